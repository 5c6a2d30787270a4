// SPDX-License-Identifier: Apache-2.0
//
// Runs other programs: argument vectors, never a shell. A program inherits its standard streams and the descriptors
// that are named, nothing else: a lock or a pipe that leaks into a long-lived server would be held for as long as it
// lives.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace nbdcrypt::cli {

/// What to run and what it inherits.
struct Program {
  std::vector<std::string> argv;   // argv[0] is looked up in PATH and the sbin folders
  std::vector<int> inherit = {};   // descriptors it keeps, by the same number
  bool own_session = false;        // out of reach of the terminal's Ctrl-C: for what outlives us
  bool dies_with_us = false;       // gets SIGTERM when we end, however we do
  bool takes_our_sockets = false;  // systemd's sockets: sd_listen_fds(3) of this process become those of the program
  bool interruptible = true;       // an interrupt (interrupt.h) ends it and run() throws
};

struct Outcome {
  int exit_code = 0;  // 128 + signal when a signal ended it
  std::string out, err;
  bool ok() const noexcept { return exit_code == 0; }
  /// "PROGRAM: the first line of its complaint", or "PROGRAM: exit code N" when it made none.
  std::string complaint_of(const std::string& program) const;
};

/// Runs to the end of the program, with an empty standard input. Throws Error{device} when there is no such program,
/// Error{io} when we were interrupted meanwhile (the program has ended then).
Outcome run(const Program& program);

/// Runs, and throws Error{io} with its complaint when it fails. Returns its standard output.
std::string run_or_throw(const Program& program);

/// The standard streams of a program; -1: /dev/null.
struct Streams {
  int in = -1, out = -1, err = -1;
};
/// Starts it and returns at once. The caller reaps it with wait_for().
pid_t start(const Program& program, const Streams& streams);
/// Waits for the end of a child; its exit code, 128 + signal when a signal ended it.
int wait_for(pid_t pid);

/// How many sockets a service manager gave to this process; sd_listen_fds(3).
int sockets_given();

/// The full path of a program in PATH or the sbin folders; empty when there is none.
std::string find_program(const std::string& name);

}  // namespace nbdcrypt::cli
