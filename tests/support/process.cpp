// SPDX-License-Identifier: Apache-2.0
#include "tests/support/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "tests/support/temp_dir.h"

namespace nbdcrypt::test {
namespace {

struct Pipe {
  int read_end, write_end;
  Pipe() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("pipe2");
    read_end = ends[0];
    write_end = ends[1];
  }
  ~Pipe() {
    close_read();
    close_write();
  }
  void close_read() {
    if (read_end >= 0) close(std::exchange(read_end, -1));
  }
  void close_write() {
    if (write_end >= 0) close(std::exchange(write_end, -1));
  }
};

// Only async-signal-safe calls between fork and exec: the strings are laid out before.
pid_t start(const Args& argv, const Environment& environment, const std::string& directory, int in, int out, int err) {
  std::vector<char*> words;
  for (const std::string& word : argv) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  std::vector<std::string> settings;
  for (char** e = environ; *e; ++e) settings.emplace_back(*e);
  for (const auto& [name, value] : environment) {
    std::erase_if(settings, [&n = name](const std::string& s) { return s.starts_with(n + "="); });
    settings.push_back(name + "=" + value);
  }
  std::vector<char*> envp;
  for (std::string& s : settings) {
    if (s.starts_with("PATH=") && s.find("/usr/sbin") == std::string::npos) s += ":/usr/sbin:/sbin";
    envp.push_back(s.data());
  }
  envp.push_back(nullptr);
  const pid_t pid = fork();
  if (pid < 0) throw std::runtime_error("fork");
  if (pid > 0) return pid;
  dup2(in, 0);
  dup2(out, 1);
  dup2(err, 2);
  if (!directory.empty() && chdir(directory.c_str()) != 0) _exit(126);
  environ = envp.data();
  execvpe(words[0], words.data(), envp.data());
  _exit(127);
}

int wait_for(pid_t pid) {
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

Result run(const Args& argv, const RunOptions& options) {
  Pipe in, out, err;
  const pid_t pid = start(argv, options.environment, options.directory, in.read_end, out.write_end, err.write_end);
  in.close_read();
  out.close_write();
  err.close_write();
  signal(SIGPIPE, SIG_IGN);
  fcntl(in.write_end, F_SETFL, O_NONBLOCK);

  Result result;
  std::size_t written = 0;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(options.timeout_seconds);
  std::array<char, 65536> buffer;
  while (out.read_end >= 0 || err.read_end >= 0) {
    if (in.write_end >= 0 && written == options.input.size()) in.close_write();
    pollfd fds[3] = {{out.read_end, POLLIN, 0}, {err.read_end, POLLIN, 0}, {in.write_end, POLLOUT, 0}};
    poll(fds, 3, 200);
    if (std::chrono::steady_clock::now() > deadline) {
      kill(pid, SIGKILL);
      result.err += "\n(killed after " + std::to_string(options.timeout_seconds) + " s)";
      break;
    }
    if (fds[0].revents) {
      const ssize_t n = read(out.read_end, buffer.data(), buffer.size());
      if (n > 0)
        result.out.append(buffer.data(), static_cast<std::size_t>(n));
      else
        out.close_read();
    }
    if (fds[1].revents) {
      const ssize_t n = read(err.read_end, buffer.data(), buffer.size());
      if (n > 0)
        result.err.append(buffer.data(), static_cast<std::size_t>(n));
      else
        err.close_read();
    }
    if (fds[2].revents) {
      const ssize_t n = write(in.write_end, options.input.data() + written, options.input.size() - written);
      if (n > 0)
        written += static_cast<std::size_t>(n);
      else if (n < 0 && errno != EAGAIN)
        in.close_write();
    }
  }
  result.exit_code = wait_for(pid);
  if (result.exit_code == 127) throw std::runtime_error("cannot run " + argv[0]);
  return result;
}

std::string check(const Args& argv, const RunOptions& options) {
  Result result = run(argv, options);
  if (!result.ok()) {
    std::string line;
    for (const std::string& word : argv) line += word + " ";
    throw std::runtime_error(line + "\nexit code " + std::to_string(result.exit_code) + "\n" + result.out + result.err);
  }
  return std::move(result.out);
}

Child::Child(const Args& argv, const std::string& stderr_file, const Environment& environment) {
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  const int err = open(stderr_file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  pid_ = start(argv, environment, {}, null, null, err);
  close(null);
  close(err);
}

Child::~Child() {
  if (pid_ > 0) stop(SIGKILL);
}

int Child::stop(int signal) {
  kill(pid_, signal);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (alive() && std::chrono::steady_clock::now() < deadline)
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  if (alive()) kill(pid_, SIGKILL);
  return wait_for(std::exchange(pid_, -1));
}

bool Child::alive() {
  siginfo_t info{};
  return pid_ > 0 && waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid == 0;
}

namespace {

// The columns of /proc/net/unix: Num RefCount Protocol Flags Type St Inode Path.
bool is_listening(const std::string& socket) {
  constexpr unsigned long kAcceptsConnections = 0x10000;  // __SO_ACCEPTCON of linux/net.h
  std::ifstream table("/proc/net/unix");
  for (std::string line; std::getline(table, line);) {
    if (!line.ends_with(" " + socket)) continue;
    std::istringstream columns(line);
    std::string skipped, flags;
    columns >> skipped >> skipped >> skipped >> flags;
    if (std::stoul(flags, nullptr, 16) & kAcceptsConnections) return true;
  }
  return false;
}

}  // namespace

void wait_for_listener(const std::string& socket, Child& child, const std::string& stderr_file) {
  for (int tries = 0; tries < 6000; ++tries) {
    if (is_listening(socket)) return;
    if (!child.alive()) throw std::runtime_error("the server ended: " + read_file(stderr_file));
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  throw std::runtime_error("nobody listens at " + socket + " after 60 s: " + read_file(stderr_file));
}

}  // namespace nbdcrypt::test
