// SPDX-License-Identifier: Apache-2.0
//
// The guest's side of the instruction counter (bench/icount): numbers of regions go to the emulator's plugin, counts
// come back in the file that it writes, as the emulator in user mode and its guest share one file system.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace nbdcrypt::bench {

class Counter {
 public:
  /// `file`: what the plugin was given as out=. Throws std::runtime_error when nothing counts.
  explicit Counter(std::string file);

  /// Runs work() once, as the next region. Returns its number.
  template <class F>
  std::size_t count(F&& work) {
    enter();
    work();
    return leave();
  }

  /// Instructions of each region so far, without those of entering and leaving it. Throws std::runtime_error.
  std::vector<std::uint64_t> counts() const;

 private:
  void enter() const noexcept;
  std::size_t leave() noexcept;

  std::string file_;
  std::size_t regions_ = 0;
};

}  // namespace nbdcrypt::bench
