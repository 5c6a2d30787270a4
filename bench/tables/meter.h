// SPDX-License-Identifier: Apache-2.0
//
// What a pass costs: nanoseconds of processor time, or executed guest instructions under an emulator that counts them
// (bench/icount). An emulator's time says nothing about the processor that it emulates; the unit is part of each row.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench/tables/row.h"

namespace nbdcrypt::bench {

class Counter;

class Meter {
 public:
  /// `counts_file`: the file that the counting emulator writes; empty: time. `seconds`: time for each contestant.
  /// Throws std::runtime_error when nothing counts.
  Meter(const std::string& counts_file, double seconds);
  ~Meter();

  bool counts_instructions() const noexcept { return counter_ != nullptr; }
  /// "ns" or "guest instructions".
  const char* unit() const noexcept { return counter_ ? "guest instructions" : "ns"; }
  double seconds() const noexcept { return seconds_; }

  /// What one call of each costs, by turns. Time: the median of its runs. Instructions: of the second call.
  std::vector<double> costs(const std::vector<std::function<void()>>& contestants) const;
  /// The same, but of the runs the fastest: what a regression wants.
  double least_cost(const std::function<void()>& pass, double seconds) const;

  /// Sets what a cost of `units` a byte amounts to: the unit, and in time also MiB/s, cycles per byte and the clock.
  void describe(Row& row, double units_per_byte) const;

 private:
  std::unique_ptr<Counter> counter_;
  double seconds_;
};

}  // namespace nbdcrypt::bench
