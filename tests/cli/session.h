// SPDX-License-Identifier: Apache-2.0
//
// Open volumes in a runtime folder of the test's own, and a look at what they leave behind.
#pragma once

#include <string>
#include <vector>

#include "tests/cli/program.h"
#include "tests/support/process.h"
#include "tests/support/temp_dir.h"

namespace nbdcrypt::test {

inline constexpr char kPassphrase[] = "correct horse battery staple";

/// A file of /proc, empty when its process has ended meanwhile.
std::string read_proc(const std::string& path);

/// What the world outside this process says about `path`: processes, mounts, loop devices and open files that name it.
/// One line each.
std::vector<std::string> traces_of(const std::string& path);

class Session {
 public:
  Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session();  ///< ends whatever a failed test left

  /// Runs the program with the runtime folder in its environment. `input`: what is piped into it.
  Result nbdcrypt(const Args& words, const std::string& input = {}) const;
  /// The same with the passphrase piped in.
  Result with_passphrase(const Args& words) const { return nbdcrypt(words, kPassphrase); }
  /// The same as an unprivileged user.
  Result as_nobody(const Args& words, const std::string& input = {}) const;
  /// In the background.
  Child start(const Args& words, const Environment& more = {}) const;

  std::string dir() const { return dir_.path(); }
  std::string operator/(const std::string& name) const { return dir_ / name; }
  std::string runtime() const { return dir_ / "run"; }
  /// NAME/nbd.sock, NAME/dev and so on.
  std::string in(const std::string& name, const std::string& file) const { return runtime() + "/" + name + "/" + file; }
  std::string uri(const std::string& name) const { return "nbd+unix:///?socket=" + in(name, "nbd.sock"); }
  pid_t server(const std::string& name) const;
  /// kill -9 of its server, and waits until it is gone.
  void kill_server(const std::string& name) const;

  /// An image by cryptsetup, with kPassphrase in a key slot that costs nothing; LUKS2: 16 MiB of header.
  std::string luks_image(const std::string& name = "disk.img", int mebibytes = 32) const;
  std::string key_file() const { return dir_ / "key"; }
  std::string folder(const std::string& name) const;
  /// What every command runs with.
  const Environment& environment() const { return environment_; }
  /// Sets a variable for all that follows.
  void set(const std::string& variable, const std::string& value) { environment_.emplace_back(variable, value); }
  /// Puts the variables into our own environment, for a child after fork().
  void export_environment() const;
  /// A program of the test's own, and its path.
  std::string script(const std::string& name, const std::string& text) const;

  /// Everything that should be gone after closing; empty when it is.
  std::string leftovers() const;

 private:
  TempDir dir_;
  Environment environment_;
};

/// Tests until it holds, at most ten seconds.
template <class Condition>
bool eventually(Condition&& condition);

/// Lets everybody use /dev/fuse (or nobody but root) while it lives; one test at a time, also among parallel ones.
class FuseAccess {
 public:
  explicit FuseAccess(bool for_everybody);
  FuseAccess(const FuseAccess&) = delete;
  FuseAccess& operator=(const FuseAccess&) = delete;
  ~FuseAccess();

 private:
  int fd_;
  unsigned former_mode_;
};

void wait_a_little();

template <class Condition>
bool eventually(Condition&& condition) {
  for (int tries = 0; tries < 500; ++tries) {
    if (condition()) return true;
    wait_a_little();
  }
  return false;
}

}  // namespace nbdcrypt::test
