// SPDX-License-Identifier: Apache-2.0
//
// nbdkit as most people run it: it goes into the background once the volume is open.
#pragma once

#include <sys/types.h>

#include <string>

#include "tests/support/server.h"

namespace nbdcrypt::test {

struct DaemonOptions {
  std::string input = {};  // standard input
  Args nbdkit = {};        // arguments before the plugin
  Args wrapper = {};       // a program that runs nbdkit, and its arguments
};

class Daemon {
 public:
  /// Runs nbdkit without -f until it has forked. Throws with what it printed when it fails.
  explicit Daemon(const Args& plugin_args, const DaemonOptions& options = {});
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;
  ~Daemon();

  pid_t pid() const { return pid_; }
  /// What was printed before it went into the background.
  const std::string& said() const { return said_; }
  Client connect() const { return Client("nbd+unix:///?socket=" + (dir_ / "sock")); }

 private:
  TempDir dir_;
  pid_t pid_ = -1;
  std::string said_;
};

}  // namespace nbdcrypt::test
