// SPDX-License-Identifier: Apache-2.0
#include "tests/cli/pty.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <stdexcept>
#include <vector>

namespace nbdcrypt::test {
namespace {

constexpr int kTimeoutMs = 60'000;

[[noreturn]] void become(const std::vector<char*>& words, int line) {
  setsid();
  ioctl(line, TIOCSCTTY, 0);
  for (int fd = 0; fd <= 2; ++fd) dup2(line, fd);
  execvp(words[0], words.data());
  _exit(127);
}

}  // namespace

AtTerminal::AtTerminal(const Args& argv) : terminal_(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)) {
  if (terminal_ < 0 || grantpt(terminal_) != 0 || unlockpt(terminal_) != 0) throw std::runtime_error("posix_openpt");
  line_ = open(ptsname(terminal_), O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (line_ < 0) throw std::runtime_error("ptsname");
  std::vector<char*> words;
  for (const std::string& word : argv) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  pid_ = fork();
  if (pid_ < 0) throw std::runtime_error("fork");
  if (pid_ == 0) become(words, line_);
}

AtTerminal::~AtTerminal() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  close(line_);
  close(terminal_);
}

// False when nothing came in time, or the program has ended and all of it was read.
bool AtTerminal::read_more() {
  for (int waited_ms = 0; waited_ms < kTimeoutMs; waited_ms += 100) {
    pollfd shown = {terminal_, POLLIN, 0};
    if (poll(&shown, 1, 100) > 0) {
      std::array<char, 4096> buffer;
      const ssize_t n = read(terminal_, buffer.data(), buffer.size());
      if (n <= 0) return false;
      screen_.append(buffer.data(), static_cast<std::size_t>(n));
      return true;
    }
    siginfo_t info{};
    if (pid_ < 0 ||
        (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0))
      return false;
  }
  return false;
}

bool AtTerminal::shows(const std::string& text) {
  for (;;) {
    const std::size_t at = screen_.find(text, seen_);
    if (at != std::string::npos) {
      seen_ = at + text.size();
      return true;
    }
    if (!read_more()) return false;
  }
}

void AtTerminal::write(const std::string& text) {
  if (::write(terminal_, text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    throw std::runtime_error("terminal: write");
}

void AtTerminal::types(const std::string& line) { write(line + "\n"); }
void AtTerminal::interrupts() { write("\003"); }

bool AtTerminal::echoes() const {
  termios settings{};
  if (tcgetattr(line_, &settings) != 0) throw std::runtime_error("tcgetattr");
  return (settings.c_lflag & ECHO) != 0;
}

int AtTerminal::ends() {
  while (read_more()) {}
  int status = 0;
  const pid_t pid = std::exchange(pid_, -1);
  if (waitpid(pid, &status, WNOHANG) == 0) {
    kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace nbdcrypt::test
