// SPDX-License-Identifier: Apache-2.0
#include "cli/benchmark_workplace.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "base/error.h"
#include "cli/byte_size.h"
#include "cli/interrupt.h"
#include "cli/progress.h"
#include "cli/terminal.h"

namespace nbdcrypt::cli {

using base::Error;
using base::Kind;

namespace {
constexpr std::uint64_t kMiB = 1 << 20;
constexpr std::uint64_t kMinFileBytes = 4 * kMiB;
}  // namespace

Workplace::Workplace(const std::string& parent) : path_(parent + "/nbdcrypt-benchmark-XXXXXX") {
  if (mkdtemp(path_.data()) == nullptr) base::throw_open_error(parent, errno);
  path_ = std::filesystem::canonical(path_);  // as mount tables spell it
  mkdir((path_ + "/mnt").c_str(), 0700);
}

void Workplace::remove() const noexcept {
  for (const char* file : {"/image", "/key", "/source"}) unlink((path_ + file).c_str());
  rmdir((path_ + "/mnt").c_str());
  rmdir(path_.c_str());
}

std::string parent_folder(const Arguments& arguments, const char* otherwise) {
  const char* named = std::getenv("TMPDIR");
  return arguments.get_or<std::string>("dir", named && *named ? named : otherwise);
}

void check_room(const std::string& folder, std::uint64_t bytes) {
  struct statvfs free;
  if (statvfs(folder.c_str(), &free) != 0) base::throw_open_error(folder, errno);
  const std::uint64_t room = static_cast<std::uint64_t>(free.f_bavail) * free.f_frsize;
  if (room < bytes) {
    throw Error(Kind::io, fmt::format("{}: {} free, {} needed", folder, human_size(room), human_size(bytes)), 0,
                "another folder: --dir DIR, or a smaller file: --file-size");
  }
}

void write_whole(const std::string& path, std::uint64_t bytes, bool quiet) {
  const volume::FileDescriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file) base::throw_open_error(path, errno);
  const std::string block(kMiB, '\x5a');
  Progress progress("image", bytes, quiet);
  for (std::uint64_t done = 0; done < bytes; done += block.size()) {
    Interrupts::check();
    if (write(file.get(), block.data(), block.size()) != static_cast<ssize_t>(block.size()))
      base::throw_os_error(path, errno);
    progress.update(done + block.size());
  }
}

void set_volume_options(BedPlan& plan, const Arguments& arguments) {
  plan.cipher = arguments.get_or<std::string>("cipher", "aes-xts-plain64");
  const bool xts = plan.cipher.find("-xts-") != std::string::npos;
  plan.key_bits = arguments.get_or<std::uint32_t>("key-size", xts ? 512 : 256);
  if (plan.key_bits % 8 != 0 || plan.key_bits == 0 || plan.key_bits > 512)
    throw Error(Kind::usage, "option --key-size: expected 128 to 512 bits");
  plan.sector_bytes = arguments.get_or<std::uint32_t>("sector-size", 4096);
}

std::uint64_t file_size_option(const Arguments& arguments, std::uint64_t otherwise) {
  const std::uint64_t bytes = arguments.get_or("file-size", ByteSize{otherwise}).bytes / kMiB * kMiB;
  if (bytes < kMinFileBytes) throw Error(Kind::usage, "option --file-size: at least 4M");
  return bytes;
}

double seconds_option(const Arguments& arguments) {
  const double seconds = arguments.get_or("seconds", 0.0);
  if (!std::isfinite(seconds) || seconds < 0 || seconds > 86400)
    throw Error(Kind::usage, "option --seconds: expected 0 to 86400");
  return seconds;
}

int runs_option(const Arguments& arguments, std::uint32_t otherwise) {
  const std::uint32_t runs = arguments.get_or("runs", otherwise);
  if (runs < 1 || runs > 1000) throw Error(Kind::usage, "option --runs: expected 1 to 1000");
  return static_cast<int>(runs);
}

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> words;
  std::istringstream in(list);
  for (std::string word; std::getline(in, word, ',');) {
    if (!word.empty()) words.push_back(word);
  }
  return words;
}

void leave_out(std::vector<bench::fs::Column>& columns, bench::fs::Column::Server server, const std::string& why) {
  const auto is_it = [&](const bench::fs::Column& column) { return column.server == server; };
  if (std::erase_if(columns, is_it) != 0) tell("nbdcrypt: " + why + "; left out\n");
}

void leave_out_unable(std::vector<bench::fs::Column>& columns, const std::string& cipher) {
  // nbdkit 1.32's luks filter ends the connection when a volume has essiv IVs.
  if (cipher.find("essiv") != std::string::npos)
    leave_out(columns, bench::fs::Column::Server::nbdkit_luks, "nbdkit's luks filter does not know essiv");
}

std::string duration(double seconds) {
  return seconds < 90 ? fmt::format("{:.0f} s", seconds) : fmt::format("{:.0f} min", seconds / 60);
}

}  // namespace nbdcrypt::cli
