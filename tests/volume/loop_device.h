// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "tests/support/process.h"
#include "tests/support/requires.h"

namespace nbdcrypt::test {

/// True where this process may make loop devices: root, and a kernel that has them.
inline bool can_make_loop_devices() { return have_tool("losetup") && run({"losetup", "-f"}).ok(); }

/// A block device over a file, for as long as it lives.
class LoopDevice {
 public:
  explicit LoopDevice(const std::string& file) : path_(check({"losetup", "--show", "-f", file})) {
    path_.pop_back();  // the newline
  }
  LoopDevice(const LoopDevice&) = delete;
  LoopDevice& operator=(const LoopDevice&) = delete;
  ~LoopDevice() { run({"losetup", "-d", path_}); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace nbdcrypt::test
