// SPDX-License-Identifier: Apache-2.0
#include "bench/fs/worker.h"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>

#include "base/error.h"

namespace nbdcrypt::bench::fs {
namespace {

using base::Error;
using base::Kind;

// One packet; both ends are the same program.
struct Message {
  enum Type { begin, step, end, failure } type = begin;
  Phase phase = Phase::putc;
  std::uint64_t done_bytes = 0;
  double amount = 0, seconds = 0;
  char text[400] = {};
};

// The child's side.
class Teller final : public Observer {
 public:
  explicit Teller(int socket) : socket_(socket) {}
  void begin(Phase phase) override {
    tell({.type = Message::begin, .phase = phase});
    wait_until_taken();
  }
  void step(std::uint64_t done_bytes) override { tell({.type = Message::step, .done_bytes = done_bytes}); }
  void end(Phase phase, double amount, double seconds) override {
    tell({.type = Message::end, .phase = phase, .amount = amount, .seconds = seconds});
    wait_until_taken();
  }
  void fail(const char* why) {
    Message message{.type = Message::failure};
    std::strncpy(message.text, why, sizeof message.text - 1);
    tell(message);
  }

 private:
  void tell(const Message& message) {
    if (send(socket_, &message, sizeof message, MSG_NOSIGNAL) < 0) _exit(1);  // nobody is interested any more
  }
  void wait_until_taken() {
    char taken;
    if (recv(socket_, &taken, 1, 0) != 1) _exit(1);
  }
  int socket_;
};

[[noreturn]] void run_child(const Body& body, const MemoryGroup* group, int socket, pid_t parent) noexcept {
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent) _exit(1);
  setpgid(0, 0);  // the terminal's Ctrl-C is for the parent, who then ends us
  Teller teller(socket);
  try {
    if (group != nullptr) group->enter();
    body(teller);
  } catch (const std::exception& error) {
    teller.fail(error.what());
    _exit(1);
  }
  _exit(0);
}

class Worker {
 public:
  Worker(const Body& body, const MemoryGroup* group) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) base::throw_os_error("socketpair", errno);
    socket_ = ends[0];
    const pid_t parent = getpid();
    pid_ = fork();
    if (pid_ == 0) {
      close(ends[0]);
      run_child(body, group, ends[1], parent);
    }
    const int os_error = errno;
    close(ends[1]);
    if (pid_ > 0) return;
    close(socket_);
    base::throw_os_error("fork", os_error);
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  ~Worker() {
    kill(pid_, SIGKILL);
    while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {}
    close(socket_);
  }

  /// False when there was nothing for half a second.
  bool is_readable() const {
    pollfd waiting{socket_, POLLIN, 0};
    return poll(&waiting, 1, 500) > 0;
  }
  /// False when the child has ended.
  bool take(Message& message) const { return recv(socket_, &message, sizeof message, 0) == sizeof message; }
  void answer() const { static_cast<void>(send(socket_, "", 1, MSG_NOSIGNAL)); }
  int exit_code() {
    int status = 0;
    siginfo_t info;
    if (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT) == 0)
      status = info.si_code == CLD_EXITED ? info.si_status : 128 + info.si_status;
    return status;
  }

 private:
  int socket_ = -1;
  pid_t pid_ = -1;
};

void pass_on(const Message& message, const Worker& worker, Observer& observer) {
  switch (message.type) {
    case Message::begin:
      observer.begin(message.phase);
      return worker.answer();
    case Message::step:
      return observer.step(message.done_bytes);
    case Message::end:
      observer.end(message.phase, message.amount, message.seconds);
      return worker.answer();
    case Message::failure:
      throw Error(Kind::io, message.text);
  }
}

}  // namespace

void run_in_worker(const Body& body, const MemoryGroup* group, Observer& observer, const std::function<void()>& check) {
  Worker worker(body, group);
  for (Message message;;) {
    check();
    if (!worker.is_readable()) continue;
    if (!worker.take(message)) break;
    pass_on(message, worker, observer);
  }
  if (const int code = worker.exit_code(); code != 0)
    throw Error(Kind::io, "the load ended with exit code " + std::to_string(code));
}

}  // namespace nbdcrypt::bench::fs
