// SPDX-License-Identifier: Apache-2.0
//
// A control group that bounds how much of a file the page cache may hold of those who are in it; cgroups(7), version 2
// or 1, whichever has the memory controller.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace nbdcrypt::bench::fs {

class MemoryGroup {
 public:
  /// Null when there is no such controller, or it is not ours to use.
  static std::unique_ptr<MemoryGroup> make(std::uint64_t limit_bytes);
  MemoryGroup(const MemoryGroup&) = delete;
  MemoryGroup& operator=(const MemoryGroup&) = delete;
  ~MemoryGroup();  ///< everybody must have left it

  /// Puts the calling process into it.
  void enter() const;
  /// What the destructor does, for whom it does not run.
  void remove() const noexcept;

 private:
  explicit MemoryGroup(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace nbdcrypt::bench::fs
