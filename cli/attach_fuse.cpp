// SPDX-License-Identifier: Apache-2.0
#include "cli/attach_fuse.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <exception>
#include <system_error>
#include <thread>

#include "base/error.h"
#include "cli/interrupt.h"
#include "cli/process.h"
#include "cli/server.h"
#include "cli/system_table.h"

namespace nbdcrypt::cli {
namespace {

using base::Error;
using base::Kind;
using volume::FileDescriptor;
using namespace std::chrono_literals;

constexpr auto kStartPatience = 30s;
constexpr auto kBusyPatience = 2s;  // a loop device lets go of its file a little after it was detached
constexpr auto kEndPatience = 30s;
constexpr auto kPollInterval = 10ms;

// Where a program that outlives us may write its errors: a pipe would kill it once we are gone, a file would grow for
// ever. This one is memory of a fixed size; writes behind its end fail.
class ErrorPage {
 public:
  ErrorPage() : fd_(memfd_create("nbdfuse-errors", MFD_CLOEXEC | MFD_ALLOW_SEALING)) {
    if (!fd_ || ftruncate(fd_.get(), kBytes) != 0 || fcntl(fd_.get(), F_ADD_SEALS, F_SEAL_GROW) != 0) {
      base::throw_os_error("memfd", errno);
    }
  }
  int fd() const noexcept { return fd_.get(); }
  std::string text() const {
    std::string page(kBytes, '\0');
    const ssize_t n = pread(fd_.get(), page.data(), page.size(), 0);
    page.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
    return page.substr(0, page.find('\0'));
  }

 private:
  static constexpr std::size_t kBytes = 16384;
  FileDescriptor fd_;
};

std::string device_path(const Entry& entry) { return entry.path(kDeviceFile); }

// The child of ours that nbdfuse is until it has mounted; ended when it does not come to that.
class Starting {
 public:
  Starting(const Entry& entry, const Program& nbdfuse, const ErrorPage& errors)
      : entry_(entry), errors_(errors), pid_(start(nbdfuse, {.err = errors.fd()})) {
    entry_.write_pid(kAttachmentPidFile, pid_);
  }
  Starting(const Starting&) = delete;
  Starting& operator=(const Starting&) = delete;
  // A signal that comes just before its loop begins is forgotten by libfuse, and it would run for ever.
  ~Starting() {
    if (pid_ <= 0) return;
    kill(pid_, SIGTERM);
    const auto deadline = std::chrono::steady_clock::now() + kBusyPatience;
    while (waitpid(pid_, nullptr, WNOHANG) == 0) {
      if (std::chrono::steady_clock::now() > deadline) {
        kill(pid_, SIGKILL);
        wait_for(pid_);
        return;
      }
      std::this_thread::sleep_for(kPollInterval);
    }
  }
  void wait_until_mounted() {
    const auto deadline = std::chrono::steady_clock::now() + kStartPatience;
    while (!is_mount_point(device_path(entry_))) {
      refuse_if_ended();
      if (std::chrono::steady_clock::now() > deadline)
        throw Error(Kind::io, "nbdfuse: " + device_path(entry_) + " is not there after 30 s");
      Interrupts::check();
      std::this_thread::sleep_for(kPollInterval);
    }
    pid_ = -1;  // it outlives us; whoever adopts it reaps it
  }

 private:
  void refuse_if_ended() {
    int status = 0;
    if (waitpid(pid_, &status, WNOHANG) != pid_) return;
    pid_ = -1;
    const Outcome outcome{.exit_code = WEXITSTATUS(status), .out = {}, .err = errors_.text()};
    throw Error(Kind::io, outcome.complaint_of("nbdfuse"));
  }

  const Entry& entry_;
  const ErrorPage& errors_;
  pid_t pid_;
};

Outcome fusermount(const std::string& how, const std::string& path) {
  return run({.argv = {"fusermount3", how, path}, .own_session = true, .interruptible = false});
}

[[noreturn]] void throw_endless(const Entry& entry) { throw Error(Kind::io, entry.name() + ": nbdfuse does not end"); }

}  // namespace

std::string fuse_is_missing() {
  if (access("/dev/fuse", R_OK | W_OK) != 0) return "/dev/fuse: " + std::system_category().message(errno);
  for (const char* program : {"nbdfuse", "fusermount3"}) {
    if (find_program(program).empty()) return std::string(program) + ": no such program";
  }
  return {};
}

void attach_fuse(const Entry& entry, State& state) {
  entry.make_empty_file(kDeviceFile);
  state.attachment = Attachment::fuse;
  entry.write(state);  // before it is done, so that it is undone however this ends
  const ErrorPage errors;
  const FileDescriptor lock = entry.lock_for(Role::attachment);
  Program nbdfuse{.argv = {"nbdfuse"}, .inherit = {lock.get()}, .own_session = true};
  if (state.read_only) nbdfuse.argv.emplace_back("-r");
  nbdfuse.argv.push_back(device_path(entry));
  nbdfuse.argv.push_back(state.uri);
  Starting(entry, nbdfuse, errors).wait_until_mounted();
}

void detach_fuse(const Entry& entry) {
  const std::string path = device_path(entry);
  const auto deadline = std::chrono::steady_clock::now() + kBusyPatience;
  // One that never came to mounting is told to end.
  if (!is_mount_point(path) && !end_process(entry, Role::attachment, kAttachmentPidFile, kBusyPatience))
    throw_endless(entry);
  while (is_mount_point(path) && !fusermount("-u", path).ok()) {
    if (std::chrono::steady_clock::now() > deadline) throw Error(Kind::busy, entry.name() + ": " + path + " is in use");
    std::this_thread::sleep_for(10 * kPollInterval);
  }
  // It hands on what was written last before it ends.
  if (!entry.wait_for_end(Role::attachment, kEndPatience)) throw_endless(entry);
}

void force_detach_fuse(const Entry& entry) noexcept {
  try {
    detach_fuse(entry);
  } catch (const std::exception&) {
    try {
      if (is_mount_point(device_path(entry))) fusermount("-uz", device_path(entry));
      end_process(entry, Role::attachment, kAttachmentPidFile, kBusyPatience);
    } catch (const std::exception&) {  // nothing more can be done
    }
  }
}

}  // namespace nbdcrypt::cli
