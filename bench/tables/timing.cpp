// SPDX-License-Identifier: Apache-2.0
#include "bench/tables/timing.h"

#include <time.h>

#include <algorithm>
#include <cstdint>
#include <limits>

namespace nbdcrypt::bench {
namespace {

constexpr std::size_t kRuns = 9;

// Processor time of this thread: what others take away from it in the meantime is not counted.
double now_seconds() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

double seconds_of(const std::function<void()>& pass, std::size_t passes) {
  const double start = now_seconds();
  for (std::size_t i = 0; i < passes; ++i) pass();
  return now_seconds() - start;
}

// Passes that take about `seconds`, at least one: reading the clock is a system call, and must not count.
std::size_t passes_for(const std::function<void()>& pass, double seconds) {
  std::size_t passes = 1;
  double took = seconds_of(pass, passes);
  while (took < seconds / 4) took = seconds_of(pass, passes *= 2);
  if (took <= 0) return passes;  // a clock too coarse to see them
  return std::max<std::size_t>(1, static_cast<std::size_t>(static_cast<double>(passes) * seconds / took));
}

#if defined(__x86_64__)
double multiply_clock_hz() {
  constexpr std::uint64_t kMultiplications = 1u << 20;
  double best = 0;
  for (int i = 0; i < 20; ++i) {
    std::uint64_t x = 3;
    const double start = now_seconds();
    for (std::uint64_t n = 0; n < kMultiplications / 16; ++n) {
      for (int k = 0; k < 16; ++k) __asm__ volatile("imul %0, %0" : "+r"(x));
    }
    best = std::max(best, 3 * static_cast<double>(kMultiplications) / (now_seconds() - start));
  }
  return best;
}
#else
double multiply_clock_hz() { return std::numeric_limits<double>::quiet_NaN(); }
#endif

}  // namespace

Measurement summarise(std::vector<double> mb_per_s) {
  std::sort(mb_per_s.begin(), mb_per_s.end());
  const std::size_t runs = mb_per_s.size();
  const double median = runs % 2 ? mb_per_s[runs / 2] : (mb_per_s[runs / 2 - 1] + mb_per_s[runs / 2]) / 2;
  return {median, (mb_per_s[(runs - 1) * 3 / 4] - mb_per_s[(runs - 1) / 4]) / median, runs};
}

std::vector<Measurement> measure(const std::vector<std::function<void()>>& contestants, std::size_t bytes_per_pass,
                                 double seconds_each) {
  std::vector<std::size_t> passes;
  for (const auto& pass : contestants) passes.push_back(passes_for(pass, seconds_each / kRuns));
  std::vector<std::vector<double>> figures(contestants.size());
  for (std::size_t run = 0; run < kRuns; ++run) {
    for (std::size_t i = 0; i < contestants.size(); ++i) {
      const std::size_t turn = (run + i) % contestants.size();
      const double megabytes = static_cast<double>(passes[turn] * bytes_per_pass) / 1e6;
      figures[turn].push_back(megabytes / seconds_of(contestants[turn], passes[turn]));
    }
  }
  std::vector<Measurement> results;
  for (auto& runs : figures) results.push_back(summarise(std::move(runs)));
  return results;
}

double ns_a_call(const std::function<void()>& pass, double seconds) {
  const std::size_t passes = passes_for(pass, seconds);
  return seconds_of(pass, passes) * 1e9 / static_cast<double>(passes);
}

Repeated repeat_for(const std::function<void()>& pass, double seconds) {
  const std::size_t at_once = passes_for(pass, seconds / 100);
  Repeated all{0, 0};
  do {
    all.seconds += seconds_of(pass, at_once);
    all.passes += at_once;
  } while (all.seconds < seconds);
  return all;
}

double core_clock_hz() {
  static const double hz = multiply_clock_hz();
  return hz;
}

double cycles_per_byte(double mb_per_s) { return core_clock_hz() / (mb_per_s * 1e6); }

}  // namespace nbdcrypt::bench
