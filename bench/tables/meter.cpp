// SPDX-License-Identifier: Apache-2.0
#include "bench/tables/meter.h"

#include <algorithm>

#include "bench/accelerators/counter.h"
#include "bench/tables/timing.h"

namespace nbdcrypt::bench {
namespace {

constexpr int kLeastOf = 7;

/// measure() gives megabytes a second; with passes of a megabyte that is calls a second.
constexpr std::size_t kMegabyte = 1'000'000;

}  // namespace

Meter::Meter(const std::string& counts_file, double seconds)
    : counter_(counts_file.empty() ? nullptr : std::make_unique<Counter>(counts_file)), seconds_(seconds) {}

Meter::~Meter() = default;

std::vector<double> Meter::costs(const std::vector<std::function<void()>>& contestants) const {
  std::vector<double> result;
  if (counter_) {
    for (const auto& pass : contestants) {
      pass();  // what happens once is not counted
      const std::size_t region = counter_->count(pass);
      result.push_back(static_cast<double>(counter_->regions().at(region).instructions));
    }
    return result;
  }
  for (const Measurement& one : measure(contestants, kMegabyte, seconds_)) result.push_back(1e9 / one.mb_per_s);
  return result;
}

double Meter::least_cost(const std::function<void()>& pass, double seconds) const {
  if (counter_) return costs({pass})[0];
  double least = ns_a_call(pass, seconds / kLeastOf);
  for (int i = 1; i < kLeastOf; ++i) least = std::min(least, ns_a_call(pass, seconds / kLeastOf));
  return least;
}

void Meter::describe(Row& row, double units_per_byte) const {
  row.set("unit", unit());
  if (counter_) {
    row.set("instructions_per_byte", units_per_byte);
    return;
  }
  const double mb_per_s = 1e3 / units_per_byte;
  row.set("ns_per_byte", units_per_byte).set("mib_per_s", mb_per_s * 1e6 / (1 << 20));
  row.set("cycles_per_byte", cycles_per_byte(mb_per_s)).set("clock_mhz", core_clock_hz() / 1e6);
}

}  // namespace nbdcrypt::bench
