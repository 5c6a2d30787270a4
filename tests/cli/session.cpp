// SPDX-License-Identifier: Apache-2.0
#include "tests/cli/session.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <vector>

#include "tests/support/server.h"

namespace nbdcrypt::test {
namespace {

namespace fs = std::filesystem;

constexpr auto kNobody = "65534";

std::string spaced(std::string text) {
  for (char& c : text) {
    if (c == '\0') c = ' ';
  }
  return text;
}

void add_processes(const std::string& path, std::vector<std::string>& traces) {
  std::error_code ignored;
  for (const auto& process : fs::directory_iterator("/proc", ignored)) {
    const std::string pid = process.path().filename();
    if (pid.find_first_not_of("0123456789") != std::string::npos || pid == std::to_string(getpid())) continue;
    const std::string words = spaced(read_proc(process.path() / "cmdline"));
    if (words.find(path) != std::string::npos) traces.push_back("process " + pid + ": " + words);
  }
}

void add_mounts(const std::string& path, std::vector<std::string>& traces) {
  std::ifstream table("/proc/self/mountinfo");
  for (std::string line; std::getline(table, line);) {
    if (line.find(path) != std::string::npos) traces.push_back("mount " + line);
  }
}

void add_loops(const std::string& path, std::vector<std::string>& traces) {
  std::error_code ignored;
  for (const auto& block : fs::directory_iterator("/sys/block", ignored)) {
    const std::string file = read_file(block.path() / "loop/backing_file");
    if (file.find(path) != std::string::npos) traces.push_back(block.path().filename().string() + " over " + file);
  }
}

// The sanitizers' runtime goes into nbdkit alone, which loads our plugin; the CLI has it built in.
std::string nbdkit_with_sanitizer(const TempDir& dir) {
  std::string text = "#!/bin/sh\n";
  for (const auto& [name, value] : sanitizer_environment()) text += "export " + name + "='" + value + "'\n";
  const std::string path = dir.file("nbdkit-sanitized", text + "exec nbdkit \"$@\"\n");
  fs::permissions(path, fs::perms(0755));
  return path;
}

}  // namespace

void wait_a_little() { std::this_thread::sleep_for(std::chrono::milliseconds(20)); }

std::string read_proc(const std::string& path) {
  try {
    return read_file(path);
  } catch (const std::exception&) { return {}; }
}

std::vector<std::string> traces_of(const std::string& path) {
  std::vector<std::string> traces;
  add_processes(path, traces);
  add_mounts(path, traces);
  add_loops(path, traces);
  return traces;
}

Session::Session() : environment_{{"NBDCRYPT_RUNTIME_DIR", dir_ / "run"}, {"NBDCRYPT_PLUGIN", NBDCRYPT_PLUGIN}} {
  dir_.file("key", kPassphrase);
  if (!sanitizer_environment().empty()) set("NBDKIT", nbdkit_with_sanitizer(dir_));
}

Session::~Session() {
  for (int round = 0; round < 2; ++round) {
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(runtime(), ignored)) {
      const std::string name = entry.path().filename();
      try {
        kill_server(name);
        nbdcrypt({"close", name});
      } catch (const std::exception&) {  // the test has failed already
      }
    }
  }
}

Result Session::nbdcrypt(const Args& words, const std::string& input) const {
  return run(Args{NBDCRYPT_PROGRAM} + words, {.input = input, .environment = environment_});
}

Result Session::as_nobody(const Args& words, const std::string& input) const {
  return run(Args{"setpriv", "--reuid", kNobody, "--regid", kNobody, "--clear-groups"} + words,
             {.input = input, .environment = environment_, .directory = dir()});
}

Child Session::start(const Args& words, const Environment& more) const {
  Environment environment = environment_;
  environment.insert(environment.end(), more.begin(), more.end());
  return Child(Args{NBDCRYPT_PROGRAM} + words, dir_ / "stderr", environment);
}

pid_t Session::server(const std::string& name) const {
  const std::string text = read_file(in(name, "server.pid"));
  return text.empty() ? 0 : static_cast<pid_t>(std::stol(text));
}

void Session::kill_server(const std::string& name) const {
  const pid_t pid = server(name);
  if (pid <= 0) throw std::runtime_error(name + ": no server");
  kill(pid, SIGKILL);
  // Nobody may have reaped it yet: its locks and sockets are gone all the same, when the last of its threads is.
  const auto is_gone = [pid] {
    const std::string status = read_proc("/proc/" + std::to_string(pid) + "/stat");
    if (status.empty()) return true;
    std::istringstream fields(status.substr(status.rfind(')') + 2));
    const std::vector<std::string> words{std::istream_iterator<std::string>(fields), {}};
    return words.at(0) == "Z" && words.at(17) == "1";  // proc(5): num_threads
  };
  if (!eventually(is_gone)) throw std::runtime_error("the server does not die");
}

std::string Session::luks_image(const std::string& name, int mebibytes) const {
  const std::string image = dir_.sparse(name, static_cast<std::uint64_t>(mebibytes) << 20);
  check(Args{"cryptsetup", "luksFormat", "-q", "--type", "luks2"} + kFast + Args{image, key_file()});
  return image;
}

std::string Session::folder(const std::string& name) const {
  fs::create_directory(dir_ / name);
  return dir_ / name;
}

void Session::export_environment() const {
  for (const auto& [name, value] : environment_) setenv(name.c_str(), value.c_str(), 1);
}

std::string Session::script(const std::string& name, const std::string& text) const {
  const std::string path = dir_.file(name, "#!/bin/sh\n" + text + "\n");
  fs::permissions(path, fs::perms(0755));
  return path;
}

std::string Session::leftovers() const {
  std::string text;
  for (const std::string& trace : traces_of(dir())) text += trace + "\n";
  std::error_code ignored;
  for (const auto& file : fs::recursive_directory_iterator(runtime(), ignored))
    text += "file " + file.path().string() + "\n";
  return text;
}

FuseAccess::FuseAccess(bool for_everybody) : fd_(open("/dev/fuse", O_RDONLY | O_CLOEXEC)) {
  struct stat status;
  if (fd_ < 0 || flock(fd_, LOCK_EX) != 0 || stat("/dev/fuse", &status) != 0) throw std::runtime_error("/dev/fuse");
  former_mode_ = status.st_mode & 07777;
  chmod("/dev/fuse", for_everybody ? 0666 : 0600);
}

FuseAccess::~FuseAccess() {
  chmod("/dev/fuse", former_mode_);
  close(fd_);
}

}  // namespace nbdcrypt::test
