// SPDX-License-Identifier: Apache-2.0
//
// A bar on standard error while something long runs; nothing at all when standard error is not a terminal.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace nbdcrypt::cli {

class Progress {
 public:
  /// Shows nothing before the first update. `quiet`: never anything.
  Progress(std::string what, std::uint64_t total_bytes, bool quiet = false);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress();  ///< ends the line

  /// `done_bytes` of the total are done. Redraws at most ten times a second, and at the end.
  void update(std::uint64_t done_bytes);

 private:
  using Clock = std::chrono::steady_clock;

  std::string what_;
  std::uint64_t total_bytes_;
  bool shown_;
  bool drawn_ = false;
  Clock::time_point start_ = Clock::now(), last_;
};

/// The line of a bar: "copy [#####.....]  50 %  512.0 MiB of 1.0 GiB, 1.0 GiB/s". total_bytes 0 counts as done.
std::string progress_line(const std::string& what, std::uint64_t done_bytes, std::uint64_t total_bytes, double seconds);

}  // namespace nbdcrypt::cli
