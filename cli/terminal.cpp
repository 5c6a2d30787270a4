// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>

#include "base/error.h"

namespace nbdcrypt::cli {
namespace {

using base::Error;
using base::Kind;

constexpr std::array kSignals = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
volatile sig_atomic_t caught_signal = 0;

// While it lives, the signals that end a program are held back except inside ppoll(), which they interrupt. At its end
// they are what they were, and one that came is delivered.
class HeldSignals {
 public:
  HeldSignals() {
    caught_signal = 0;
    sigset_t held;
    sigemptyset(&held);
    for (const int signal : kSignals) sigaddset(&held, signal);
    pthread_sigmask(SIG_BLOCK, &held, &before_);
    struct sigaction catching = {};
    catching.sa_handler = [](int signal) { caught_signal = signal; };
    for (std::size_t i = 0; i < kSignals.size(); ++i) {
      sigaction(kSignals[i], nullptr, &actions_[i]);
      if (actions_[i].sa_handler != SIG_IGN) sigaction(kSignals[i], &catching, nullptr);
    }
  }
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;
  ~HeldSignals() {
    for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &actions_[i], nullptr);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    if (caught_signal != 0) raise(caught_signal);
  }
  const sigset_t& before() const noexcept { return before_; }

 private:
  sigset_t before_;
  std::array<struct sigaction, kSignals.size()> actions_;
};

class NoEcho {
 public:
  explicit NoEcho(int fd) : fd_(fd), changed_(tcgetattr(fd, &before_) == 0) {
    if (!changed_) return;
    termios silent = before_;
    silent.c_lflag &= ~static_cast<tcflag_t>(ECHO | ECHOE | ECHOK | ECHONL);
    tcsetattr(fd, TCSAFLUSH, &silent);
  }
  NoEcho(const NoEcho&) = delete;
  NoEcho& operator=(const NoEcho&) = delete;
  ~NoEcho() {
    if (changed_) tcsetattr(fd_, TCSAFLUSH, &before_);
  }

 private:
  int fd_;
  termios before_;
  bool changed_;
};

// Waits for input. Throws when there is none in time or a signal came.
void wait_for_input(int fd, const std::chrono::steady_clock::time_point* deadline, const sigset_t& signals) {
  for (;;) {
    timespec left = {};
    if (deadline != nullptr) {
      const auto rest = std::max(std::chrono::nanoseconds(0), *deadline - std::chrono::steady_clock::now());
      left.tv_sec = static_cast<time_t>(rest.count() / 1'000'000'000);
      left.tv_nsec = static_cast<long>(rest.count() % 1'000'000'000);
    }
    pollfd input = {fd, POLLIN, 0};
    const int ready = ppoll(&input, 1, deadline ? &left : nullptr, &signals);
    if (ready > 0) return;
    if (ready == 0) throw Error(Kind::usage, "terminal: nothing was typed in time");
    if (errno != EINTR) base::throw_os_error("terminal", errno);
    if (caught_signal != 0) throw Error(Kind::usage, "interrupted");
  }
}

// A terminal hands out a line at a time, so nothing behind the newline is taken.
base::SecretBuffer read_line_of(int fd, std::size_t limit_bytes, unsigned timeout_seconds, const sigset_t& signals) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(timeout_seconds);
  base::SecretBuffer line(limit_bytes + 1);
  std::size_t used = 0;
  for (;;) {
    wait_for_input(fd, timeout_seconds != 0 ? &deadline : nullptr, signals);
    const ssize_t got = ::read(fd, line.data() + used, line.size() - used);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) base::throw_os_error("terminal", errno);
    if (got == 0) throw Error(Kind::usage, "terminal: end of input");
    used += static_cast<std::size_t>(got);
    if (line.data()[used - 1] == '\n') break;
    if (used == line.size()) {
      tcflush(fd, TCIFLUSH);
      throw Error(Kind::usage, fmt::format("terminal: the line is longer than {} bytes", limit_bytes));
    }
  }
  line.shrink(used - 1);
  return line;
}

}  // namespace

bool input_is_terminal() noexcept { return isatty(STDIN_FILENO) == 1; }
bool messages_are_read() noexcept { return isatty(STDERR_FILENO) == 1; }
void tell(const std::string& text) { fmt::print(stderr, "{}", text); }

Terminal::Terminal() : tty_(open("/dev/tty", O_RDWR | O_CLOEXEC)) {
  in_ = tty_ ? tty_.get() : STDIN_FILENO;
  out_ = tty_ ? tty_.get() : STDERR_FILENO;
}

void Terminal::write(const std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t n = ::write(out_, text.data() + done, text.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) base::throw_os_error("terminal", errno);
    done += static_cast<std::size_t>(n);
  }
}

base::SecretBuffer Terminal::read_line(const std::string& prompt, bool echo, std::size_t limit_bytes,
                                       unsigned timeout_seconds) {
  const HeldSignals signals;
  std::optional<NoEcho> silent;
  if (!echo) silent.emplace(in_);
  write(prompt);  // after the echo went off: who waits for the prompt may type at once
  try {
    base::SecretBuffer line = read_line_of(in_, limit_bytes, timeout_seconds, signals.before());
    if (!echo) write("\n");
    return line;
  } catch (...) {
    write("\n");
    throw;
  }
}

bool confirm(const std::string& what_happens, bool batch) {
  if (batch || !input_is_terminal()) return true;
  Terminal terminal;
  const base::SecretBuffer answer = terminal.read_line(
      fmt::format("\nWARNING!\n========\n{}\n\nAre you sure? (Type 'yes' in capital letters): ", what_happens), true,
      512);
  return answer.size() == 3 && std::memcmp(answer.data(), "YES", 3) == 0;
}

}  // namespace nbdcrypt::cli
