// SPDX-License-Identifier: Apache-2.0
//
// Runs real programs: to the end with what they print, or in the background.
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

namespace nbdcrypt::test {

using Args = std::vector<std::string>;
using Environment = std::vector<std::pair<std::string, std::string>>;

struct Result {
  int exit_code = -1;  // 128 + signal when killed by one
  std::string out, err;
  bool ok() const { return exit_code == 0; }
};

struct RunOptions {
  std::string input = {};        // standard input; empty: end of file at once
  Environment environment = {};  // added to ours
  std::string directory = {};
  int timeout_seconds = 120;  // then killed: exit code 137
};

/// Runs argv[0] (looked up in PATH and the sbin folders) and waits. Throws when it cannot be started.
Result run(const Args& argv, const RunOptions& options = {});

/// run(), and throws std::runtime_error with everything it printed unless it exits with 0. Returns its standard output.
std::string check(const Args& argv, const RunOptions& options = {});

/// A program in the background; killed and reaped when it goes out of scope. Standard error goes to a file.
class Child {
 public:
  Child(const Args& argv, const std::string& stderr_file, const Environment& environment = {});
  Child(Child&& other) noexcept : pid_(std::exchange(other.pid_, -1)) {}
  ~Child();
  pid_t pid() const { return pid_; }
  /// Sends `signal` and waits; returns the exit code as in Result. Killed after 60 s.
  int stop(int signal = 15);
  /// True while it runs.
  bool alive();

 private:
  pid_t pid_;
};

/// Returns when somebody listens at the Unix socket (its file is there before that). Throws what `child` printed to
/// `stderr_file` when it ends first, or after 60 s.
void wait_for_listener(const std::string& socket, Child& child, const std::string& stderr_file);

}  // namespace nbdcrypt::test
