// SPDX-License-Identifier: Apache-2.0
#include "cli/process.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <sstream>

#include "base/error.h"
#include "cli/interrupt.h"
#include "volume/file_store.h"

namespace nbdcrypt::cli {
namespace {

using volume::FileDescriptor;

struct Pipe {
  FileDescriptor read_end, write_end;
  Pipe() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) base::throw_os_error("pipe", errno);
    read_end = FileDescriptor(ends[0]);
    write_end = FileDescriptor(ends[1]);
  }
};

FileDescriptor open_null() {
  FileDescriptor null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!null) base::throw_os_error("/dev/null", errno);
  return null;
}

constexpr int kFirstSocket = 3;  // sd_listen_fds(3), SD_LISTEN_FDS_START

// Between fork and exec: nothing is allocated. (setenv() allocates, which is safe as no other thread runs here.)
struct Child {
  const char* path;
  char* const* argv;
  const Program& program;
  Streams streams;
  int sockets;
  pid_t parent;

  [[noreturn]] void exec() const noexcept {
    if (program.own_session) setsid();
    if (program.dies_with_us && (prctl(PR_SET_PDEATHSIG, SIGTERM) != 0 || getppid() != parent)) _exit(127);
    dup2(streams.in, STDIN_FILENO);
    dup2(streams.out, STDOUT_FILENO);
    dup2(streams.err, STDERR_FILENO);
    close_range(static_cast<unsigned>(kFirstSocket + sockets), UINT_MAX, CLOSE_RANGE_CLOEXEC);
    for (const int fd : program.inherit) fcntl(fd, F_SETFD, 0);
    if (sockets != 0) setenv("LISTEN_PID", std::to_string(getpid()).c_str(), 1);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) ::signal(signal, SIG_DFL);
    execv(path, argv);
    _exit(127);
  }
};

pid_t fork_and_exec(const Program& program, const Streams& streams) {
  const std::string path = find_program(program.argv.front());
  if (path.empty()) throw base::Error(base::Kind::device, program.argv.front() + ": no such program");
  std::vector<char*> words;
  for (const std::string& word : program.argv) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  const Child child{path.c_str(), words.data(), program, streams, program.takes_our_sockets ? sockets_given() : 0,
                    getpid()};
  const pid_t pid = fork();
  if (pid < 0) base::throw_os_error("fork", errno);
  if (pid == 0) child.exec();
  return pid;
}

// Appends what there is to `text`; false at the end of the stream.
bool take(int fd, std::string& text) {
  std::array<char, 4096> buffer;
  const ssize_t n = read(fd, buffer.data(), buffer.size());
  if (n > 0) text.append(buffer.data(), static_cast<std::size_t>(n));
  return n > 0 || (n < 0 && (errno == EINTR || errno == EAGAIN));
}

// Reads both streams until both end. False when an interrupt came first.
bool drain(Pipe& out, Pipe& err, Outcome& outcome, bool interruptible) {
  while (out.read_end || err.read_end) {
    if (interruptible && Interrupts::pending() != 0) return false;
    pollfd fds[] = {{out.read_end.get(), POLLIN, 0}, {err.read_end.get(), POLLIN, 0}};
    if (poll(fds, 2, 500) < 0) continue;
    if (fds[0].revents && !take(fds[0].fd, outcome.out)) out.read_end = FileDescriptor();
    if (fds[1].revents && !take(fds[1].fd, outcome.err)) err.read_end = FileDescriptor();
  }
  return true;
}

}  // namespace

std::string Outcome::complaint_of(const std::string& program) const {
  const std::string prefix = program.substr(program.rfind('/') + 1) + ": ";
  std::istringstream lines(err);
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty()) return line.starts_with(prefix) ? line : prefix + line;
  }
  return prefix + "exit code " + std::to_string(exit_code);
}

std::string find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) return access(name.c_str(), X_OK) == 0 ? name : std::string();
  const char* path = std::getenv("PATH");
  std::istringstream folders(std::string(path ? path : "/usr/bin:/bin") + ":/usr/sbin:/sbin");
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string candidate = folder + "/" + name;
    if (!folder.empty() && access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return {};
}

int sockets_given() {
  const char* pid = std::getenv("LISTEN_PID");
  const char* count = std::getenv("LISTEN_FDS");
  return pid && count && std::strtol(pid, nullptr, 10) == getpid() ? std::max(0, std::atoi(count)) : 0;
}

int wait_for(pid_t pid) {
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

pid_t start(const Program& program, const Streams& streams) {
  const FileDescriptor null = open_null();
  const auto or_null = [&](int fd) { return fd < 0 ? null.get() : fd; };
  return fork_and_exec(program, {or_null(streams.in), or_null(streams.out), or_null(streams.err)});
}

Outcome run(const Program& program) {
  const FileDescriptor null = open_null();
  Pipe out, err;
  const pid_t pid = fork_and_exec(program, {null.get(), out.write_end.get(), err.write_end.get()});
  out.write_end = FileDescriptor();
  err.write_end = FileDescriptor();
  Outcome outcome;
  const bool ended = drain(out, err, outcome, program.interruptible);
  if (!ended) kill(pid, SIGTERM);
  outcome.exit_code = wait_for(pid);
  if (!ended) Interrupts::check();
  return outcome;
}

std::string run_or_throw(const Program& program) {
  Outcome outcome = run(program);
  if (!outcome.ok()) throw base::Error(base::Kind::io, outcome.complaint_of(program.argv.front()));
  return std::move(outcome.out);
}

}  // namespace nbdcrypt::cli
