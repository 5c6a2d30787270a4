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

  /// `trace`: a hash of the addresses that were executed and accessed, where the plugin was told to take it (trace=on).
  struct Region {
    std::uint64_t instructions, trace;
  };

  /// All regions so far, without the instructions of entering and leaving them. Throws std::runtime_error.
  std::vector<Region> regions() const;

 private:
  void enter() const noexcept;
  std::size_t leave() noexcept;

  std::string file_;
  std::size_t count_ = 0;
};

}  // namespace nbdcrypt::bench
