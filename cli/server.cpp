// SPDX-License-Identifier: Apache-2.0
#include "cli/server.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <sstream>
#include <thread>

#include "base/error.h"
#include "cli/interrupt.h"
#include "cli/process.h"
#include "volume/image_lock.h"

namespace nbdcrypt::cli {
namespace {

using base::Error;
using base::Kind;
using volume::FileDescriptor;
using namespace std::chrono_literals;

constexpr const char* kPluginFile = "nbdkit-crypt-plugin.so";
constexpr auto kStartPatience = 30s;  // it derives nothing, so this is long
constexpr auto kKillPatience = 5s;

bool exists(const std::string& path) { return access(path.c_str(), R_OK) == 0; }

std::string beside_executable() {
  std::error_code ignored;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", ignored);
  return (self.parent_path().parent_path() / "lib" / kPluginFile).string();
}

std::string in_nbdkit_folder() {
  constexpr std::string_view kKey = "plugindir=";
  std::istringstream lines(run_or_throw({.argv = {nbdkit_program(), "--dump-config"}}));
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(kKey)) return line.substr(kKey.size()) + "/" + kPluginFile;
  }
  return {};
}

const char* type_word(volume::Type type) {
  switch (type) {
    case volume::Type::luks1:
      return "type=luks1";
    case volume::Type::luks2:
      return "type=luks2";
    default:
      return "type=plain";
  }
}

void append_plain(std::vector<std::string>& words, const volume::OpenOptions& o) {
  if (o.cipher) words.push_back("cipher=" + *o.cipher);
  if (o.key_size_bits) words.push_back("key-size=" + std::to_string(*o.key_size_bits));
  if (o.hash) words.push_back("hash=" + *o.hash);
  words.push_back("sector-size=" + std::to_string(o.sector_size));
  words.push_back("offset=" + std::to_string(o.offset_sectors));
  words.push_back("skip=" + std::to_string(o.skip_sectors));
  if (o.size_sectors != 0) words.push_back("size=" + std::to_string(o.size_sectors));
  if (o.iv_large_sectors) words.emplace_back("iv-large-sectors=true");
}

// Another server may have been quicker after the volume was unlocked; then that is the error, with its exit code.
[[noreturn]] void throw_start_error(const volume::OpenOptions& options, const std::string& complaint) {
  const auto mode = options.read_only ? volume::LockMode::shared_read : volume::LockMode::exclusive_write;
  const FileDescriptor image = volume::open_image(options.image, volume::Access::read_only);
  volume::check_image_unlocked(image.get(), options.image, mode);
  throw Error(Kind::io, "nbdkit: " + complaint);
}

// The first process ends when the second one is about to serve; the file with its number says that it does.
pid_t wait_until_it_serves(const Entry& entry, const std::string& program) {
  const auto deadline = std::chrono::steady_clock::now() + kStartPatience;
  for (;;) {
    if (const pid_t pid = entry.pid_in(kServerPidFile)) return pid;
    if (!entry.lives(Role::server))
      throw Error(Kind::io, program + ": ended right after its start", 0, "the system log may say why");
    if (std::chrono::steady_clock::now() > deadline) throw Error(Kind::io, program + ": does not serve after 30 s");
    Interrupts::check();
    std::this_thread::sleep_for(5ms);
  }
}

// One that was interrupted while it went into the background lives before its number is in the file.
pid_t pid_once_written(const Entry& entry, Role role, const char* pid_file) {
  for (int tries = 0; tries < 300; ++tries) {
    if (const pid_t pid = entry.pid_in(pid_file)) return pid;
    if (!entry.lives(role)) break;
    std::this_thread::sleep_for(10ms);
  }
  return 0;
}

void pass_on_warnings(const std::string& nbdkit_errors) {
  std::istringstream lines(nbdkit_errors);
  for (std::string line; std::getline(lines, line);) std::cerr << line << "\n";
}

}  // namespace

std::string nbdkit_program() {
  const char* named = std::getenv("NBDKIT");
  return named && *named ? named : "nbdkit";
}

std::string find_plugin() {
  if (const char* named = std::getenv("NBDCRYPT_PLUGIN"); named && *named) {
    const std::string path = std::filesystem::absolute(named);  // nbdkit takes a bare word for the name of a plugin
    if (!exists(path)) throw Error(Kind::device, path + ": no such plugin (NBDCRYPT_PLUGIN)");
    return path;
  }
  const std::string here = beside_executable();
  if (exists(here)) return here;
  const std::string there = in_nbdkit_folder();
  if (!there.empty() && exists(there)) return there;
  throw Error(Kind::device, "no plugin for nbdkit: neither " + here + " nor " + there, 0,
              "name it: NBDCRYPT_PLUGIN=FILE");
}

FileDescriptor key_pipe(const base::SecretBuffer& volume_key) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) base::throw_os_error("pipe", errno);
  FileDescriptor read_end(ends[0]);
  const FileDescriptor write_end(ends[1]);
  // At most 64 bytes: they fit the pipe's buffer, so that this neither blocks nor writes in part.
  const ssize_t written = ::write(write_end.get(), volume_key.data(), volume_key.size());
  if (written != static_cast<ssize_t>(volume_key.size())) base::throw_os_error("pipe", errno);
  return read_end;
}

std::vector<std::string> plugin_words(const volume::OpenOptions& options, const volume::Unlocked& unlocked,
                                      int key_fd) {
  std::vector<std::string> words{find_plugin(), "file=" + options.image, type_word(unlocked.type)};
  if (options.header) words.push_back("header=" + *options.header);
  if (unlocked.type == volume::Type::plain) append_plain(words, options);
  if (!options.backend.empty()) words.push_back("backend=" + options.backend);
  if (options.offload != modes::Offload::batch) {
    words.emplace_back(options.offload == modes::Offload::off ? "offload=off" : "offload=buffer");
  }
  if (options.read_only) words.emplace_back("readonly=true");
  if (options.direct) words.emplace_back("direct=true");
  if (unlocked.allow_discards) words.emplace_back("allow-discards=true");
  // What /dev/fd is a link to where there is one; a bare initramfs or container has none.
  words.push_back("volume-key-file=/proc/self/fd/" + std::to_string(key_fd));
  return words;
}

std::string complaint_of(const std::string& nbdkit_errors) {
  constexpr std::string_view kMark = "error: ";
  std::istringstream lines(nbdkit_errors);
  std::string last = "no reason given";
  for (std::string line; std::getline(lines, line);) {
    if (const auto at = line.find(kMark); at != std::string::npos) return line.substr(at + kMark.size());
    if (!line.empty()) last = line;
  }
  return last;
}

pid_t start_in_entry(const Entry& entry, Program program, const std::function<void(const Outcome&)>& refuse) {
  entry.unlink(kSocketFile);
  entry.unlink(kServerPidFile);
  {
    const FileDescriptor lock = entry.lock_for(Role::server);
    program.inherit.push_back(lock.get());
    program.own_session = true;
    const Outcome outcome = run(program);
    if (!outcome.ok()) refuse(outcome);
    pass_on_warnings(outcome.err);
  }  // from here on the server alone holds its lock
  return wait_until_it_serves(entry, program.argv.front());
}

pid_t start_server(const Entry& entry, const volume::OpenOptions& options, const volume::Unlocked& unlocked,
                   const std::vector<std::string>& more) {
  const FileDescriptor key = key_pipe(unlocked.volume_key);
  Program nbdkit{.argv = nbdkit_words(entry), .inherit = {key.get()}};
  if (options.read_only) nbdkit.argv.emplace_back("-r");
  nbdkit.argv.insert(nbdkit.argv.end(), more.begin(), more.end());
  for (std::string& word : plugin_words(options, unlocked, key.get())) nbdkit.argv.push_back(std::move(word));
  return start_in_entry(entry, std::move(nbdkit),
                        [&](const Outcome& outcome) { throw_start_error(options, complaint_of(outcome.err)); });
}

std::vector<std::string> nbdkit_words(const Entry& entry) {
  return {nbdkit_program(), "-U", entry.path(kSocketFile), "-P", entry.path(kServerPidFile)};
}

bool end_process(const Entry& entry, Role role, const char* pid_file, std::chrono::milliseconds patience) {
  if (!entry.lives(role)) return true;
  const pid_t pid = pid_once_written(entry, role, pid_file);
  const FileDescriptor process(pid > 0 ? static_cast<int>(syscall(SYS_pidfd_open, pid, 0)) : -1);
  const auto signal = [&](int number) {
    // It still holds its lock, so the number that we opened before meant this process and no later one.
    if (process && entry.lives(role)) syscall(SYS_pidfd_send_signal, process.get(), number, nullptr, 0);
  };
  signal(SIGTERM);
  if (entry.wait_for_end(role, patience)) return true;
  signal(SIGKILL);
  return entry.wait_for_end(role, kKillPatience);
}

void stop_server(const Entry& entry, std::chrono::milliseconds patience) {
  if (!end_process(entry, Role::server, kServerPidFile, patience)) {
    throw Error(Kind::io, entry.name() + ": the server does not end");
  }
}

}  // namespace nbdcrypt::cli
