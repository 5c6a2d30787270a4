// SPDX-License-Identifier: Apache-2.0
#include "volume/stripe_locks.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <random>
#include <thread>
#include <vector>

namespace nbdcrypt::test {
namespace {

using volume::StripeLocks;
using Mode = StripeLocks::Mode;
constexpr std::uint64_t kStripe = StripeLocks::kStripeBytes;
constexpr std::uint64_t kAll = StripeLocks::kStripes * kStripe;

// ThreadSanitizer gives up on threads that hold 64 locks or more.
#ifdef __SANITIZE_THREAD__
constexpr bool kAnyNumberOfLocks = false;
#else
constexpr bool kAnyNumberOfLocks = true;
#endif

struct Range {
  std::uint64_t offset, bytes;
  Mode mode;
};

/// True when another thread can hold `second` while this one holds `first`.
bool together(const Range& first, const Range& second) {
  StripeLocks locks;
  std::atomic<bool> got{false};
  std::thread other;
  bool in_time;
  {
    const StripeLocks::Hold hold(locks, first.offset, first.bytes, first.mode);
    other = std::thread([&] {
      const StripeLocks::Hold theirs(locks, second.offset, second.bytes, second.mode);
      got = true;
    });
    for (int ms = 0; ms < 30 && !got; ++ms) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    in_time = got;
  }
  other.join();
  EXPECT_TRUE(got);
  return in_time;
}

TEST(StripeLocks, SharedHoldersOfOneRangeGoTogether) {
  EXPECT_TRUE(together({0, 512, Mode::shared}, {0, 512, Mode::shared}));
}

TEST(StripeLocks, ExclusiveKeepsOthersOutOfItsStripes) {
  EXPECT_FALSE(together({0, 512, Mode::exclusive}, {0, 512, Mode::shared}));
  EXPECT_FALSE(together({0, 512, Mode::shared}, {0, 512, Mode::exclusive}));
  EXPECT_FALSE(together({0, 512, Mode::exclusive}, {0, 512, Mode::exclusive}));
}

TEST(StripeLocks, ExclusiveLeavesOtherStripesAlone) {
  EXPECT_TRUE(together({0, kStripe, Mode::exclusive}, {kStripe, 512, Mode::exclusive}));
  EXPECT_FALSE(together({0, kStripe + 1, Mode::exclusive}, {kStripe, 512, Mode::exclusive}));
}

TEST(StripeLocks, RangesThatWrapAroundHoldBothEnds) {
  const Range wraps{kAll - kStripe, 2 * kStripe, Mode::exclusive};  // the last stripe and the first
  EXPECT_FALSE(together(wraps, {0, 1, Mode::exclusive}));
  EXPECT_FALSE(together(wraps, {kAll - 1, 1, Mode::exclusive}));
  EXPECT_TRUE(together(wraps, {kAll - 31 * kStripe, 30 * kStripe, Mode::exclusive}));
  EXPECT_TRUE(together(wraps, {kStripe, 30 * kStripe, Mode::exclusive}));
}

TEST(StripeLocks, RangesLargerThanAllStripesHoldEachOnce) {
  if (!kAnyNumberOfLocks) GTEST_SKIP() << "too many locks for ThreadSanitizer";
  const Range all{12345, 3 * kAll, Mode::exclusive};
  EXPECT_FALSE(together(all, {77 * kStripe, 1, Mode::shared}));
  EXPECT_TRUE(together({12345, 3 * kAll, Mode::shared}, {0, 3 * kAll, Mode::shared}));
}

TEST(StripeLocks, ReachTheEndOfTheAddressSpace) {
  EXPECT_FALSE(together({UINT64_MAX - 511, 512, Mode::exclusive}, {UINT64_MAX - 511, 512, Mode::shared}));
}

// Rings of ranges that wrap would deadlock if they were not taken in ascending order; the counters would differ if two
// exclusive holders met.
TEST(StripeLocks, ManyHoldersNeitherMeetNorWaitForEachOther) {
  constexpr std::size_t kMost = kAnyNumberOfLocks ? StripeLocks::kStripes : 60;
  StripeLocks locks;
  std::vector<long> counters(StripeLocks::kStripes, 0);
  std::atomic<long> added{0};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 6; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(t);
      for (int i = 0; i < 300; ++i) {
        const std::uint64_t first = random() % StripeLocks::kStripes, count = 1 + random() % kMost;
        const bool exclusive = random() % 2 == 0;
        const StripeLocks::Hold hold(locks, first * kStripe, count * kStripe,
                                     exclusive ? Mode::exclusive : Mode::shared);
        for (std::uint64_t s = first; exclusive && s < first + count; ++s) ++counters[s % StripeLocks::kStripes];
        if (exclusive) added += static_cast<long>(count);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  long sum = 0;
  for (const long counter : counters) sum += counter;
  EXPECT_EQ(sum, added);
}

TEST(StripeLocks, SteadyReadersDoNotKeepAWriterOut) {
  StripeLocks locks;
  std::atomic<bool> stop{false};
  std::vector<std::thread> readers;
  for (int t = 0; t < 4; ++t) {
    readers.emplace_back([&] {
      while (!stop) {
        const StripeLocks::Hold hold(locks, 0, 512, Mode::shared);
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
      }
    });
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
  std::atomic<bool> got{false};
  std::thread writer([&] {
    const StripeLocks::Hold hold(locks, 0, 512, Mode::exclusive);
    got = true;
  });
  for (int ms = 0; ms < 3000 && !got; ++ms) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_TRUE(got);
  stop = true;
  for (std::thread& reader : readers) reader.join();
  writer.join();
}

}  // namespace
}  // namespace nbdcrypt::test
