// SPDX-License-Identifier: Apache-2.0
#include "bench/nbd/servers.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <stdexcept>

#include "bench/process_usage.h"

namespace nbdcrypt::bench {
namespace {

constexpr std::uint64_t kHeaderBytes = 2 << 20;  // of LUKS1 with a 512-bit key: 4096 sectors

bool installed(const std::string& program) {
  std::istringstream path(std::string(std::getenv("PATH") ? std::getenv("PATH") : "") + ":/usr/sbin:/sbin");
  for (std::string folder; std::getline(path, folder, ':');) {
    if (access((folder + "/" + program).c_str(), X_OK) == 0) return true;
  }
  return false;
}

void write_random(const std::string& path, std::uint64_t bytes) {
  std::mt19937_64 random(1);
  std::vector<std::uint64_t> block(1 << 17);  // 1 MiB, another one each time
  std::ofstream file(path, std::ios::binary);
  for (std::uint64_t done = 0; done < bytes; done += block.size() * 8) {
    for (std::uint64_t& word : block) word = random();
    file.write(reinterpret_cast<const char*>(block.data()), static_cast<std::streamsize>(block.size() * 8));
  }
  file.close();
  if (!file) throw std::runtime_error(path + ": cannot be written");
}

// The number behind "NAME:" in a file of /proc.
std::int64_t proc_number(const std::string& path, const std::string& name) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(name + ":")) return std::stoll(line.substr(name.size() + 1));
  }
  throw std::runtime_error(path + ": no " + name);
}

}  // namespace

// Both files are written whole before anything is measured: a hole reads faster than any server.
Disks::Disks(std::uint64_t data_bytes) : data_bytes_(data_bytes) {
  const std::string key = dir_.file("key", "benchmark");
  const std::string image = dir_.sparse("image", kHeaderBytes + data_bytes);
  test::check({"cryptsetup", "luksFormat", "-q", "--type", "luks1", "--cipher", "aes-xts-plain64", "--key-size", "512",
               "--pbkdf-force-iterations", "1000", image, key});
  write_random(source(), data_bytes);
  std::filesystem::copy_file(source(), dir_ / "plain");
  for (const ServerKind& kind : servers()) {
    if (kind.name != "nbdcrypt") continue;
    const RunningServer server(kind, folder());
    test::check({"nbdcopy", source(), server.uri()}, {.timeout_seconds = 600});
  }
}

std::vector<ServerKind> Disks::servers() const {
  const char* named = std::getenv("NBDCRYPT_PLUGIN");
  const std::string image = dir_ / "image", key = dir_ / "key", plugin = named ? named : NBDCRYPT_BENCH_PLUGIN;
  std::vector<ServerKind> all = {
      {"plain", {"nbdkit", "-f", "-U", "%s", "file", dir_ / "plain"}, true},
      {"nbdcrypt", {"nbdkit", "-f", "-U", "%s", plugin, "file=" + image, "key-file=" + key}},
      {"nbdkit luks", {"nbdkit", "-f", "-U", "%s", "--filter=luks", "file", image, "passphrase=+" + key}}};
  if (installed("qemu-nbd")) {
    all.push_back(
        {"qemu luks",
         {"qemu-nbd", "-t", "-e", "32", "-k", "%s", "--cache=writeback", "--object", "secret,id=key,file=" + key,
          "--image-opts", "driver=luks,key-secret=key,file.driver=file,file.filename=" + image}});
  }
  return all;
}

RunningServer::RunningServer(const ServerKind& kind, const std::string& folder)
    : socket_(folder + "/socket"), errors_(folder + "/stderr") {
  std::filesystem::remove(socket_);
  std::filesystem::remove(errors_);
  test::Args argv = kind.argv;
  for (std::string& word : argv) {
    if (word == "%s") word = socket_;
  }
  child_ = std::make_unique<test::Child>(argv, errors_);
  test::wait_for_listener(socket_, *child_, errors_);
}

double RunningServer::cpu_seconds() const { return cpu_seconds_of(child_->pid()); }

std::int64_t RunningServer::rss_anon_kib() const {
  return proc_number("/proc/" + std::to_string(child_->pid()) + "/status", "RssAnon");
}

}  // namespace nbdcrypt::bench
