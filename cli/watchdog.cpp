// SPDX-License-Identifier: Apache-2.0
#include "cli/watchdog.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <exception>

#include "base/error.h"
#include "volume/file_store.h"

namespace nbdcrypt::cli {
namespace {

using volume::FileDescriptor;

// Nobody shall wait for it to close what it inherited.
void let_go_of_streams() {
  const FileDescriptor null(open("/dev/null", O_RDWR | O_CLOEXEC));
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(null.get(), fd);
}

[[noreturn]] void watch(int parent, const std::function<void()>& clean_up) noexcept {
  setsid();
  let_go_of_streams();
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::signal(signal, SIG_IGN);
  pollfd end{parent, POLLIN, 0};
  while (poll(&end, 1, -1) < 0 && errno == EINTR) {}
  try {
    clean_up();
  } catch (const std::exception&) { _exit(1); }
  _exit(0);
}

}  // namespace

Watchdog::Watchdog(const std::function<void()>& clean_up) {
  // Of us, opened before the copy is made: it cannot come to mean another process.
  const FileDescriptor us(static_cast<int>(syscall(SYS_pidfd_open, getpid(), 0)));
  if (!us) base::throw_os_error("pidfd_open", errno);
  pid_ = fork();
  if (pid_ < 0) base::throw_os_error("fork", errno);
  if (pid_ == 0) watch(us.get(), clean_up);
}

Watchdog::~Watchdog() {
  kill(pid_, SIGKILL);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {}
}

}  // namespace nbdcrypt::cli
