// SPDX-License-Identifier: Apache-2.0
#include "volume/scratch.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <optional>
#include <set>
#include <thread>
#include <vector>

namespace nbdcrypt::test {
namespace {

using volume::ScratchPool;

TEST(ScratchPool, LendsWholePagesOfTheStatedSize) {
  ScratchPool pool;
  const ScratchPool::Loan loan(pool);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(loan.data()) % 4096, 0u);
  std::memset(loan.data(), 1, ScratchPool::kBufferBytes);
}

TEST(ScratchPool, LendsTheSameBufferAgain) {
  ScratchPool pool;
  std::set<base::Byte*> seen;
  for (int i = 0; i < 10; ++i) seen.insert(ScratchPool::Loan(pool).data());
  EXPECT_EQ(seen.size(), 1u);
}

TEST(ScratchPool, WaitsWhenAllAreLent) {
  ScratchPool pool(2);
  std::optional<ScratchPool::Loan> first(std::in_place, pool);
  const ScratchPool::Loan second(pool);
  base::Byte* const freed = first->data();
  std::atomic<base::Byte*> third{nullptr};
  std::thread waiter([&] { third = ScratchPool::Loan(pool).data(); });
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  EXPECT_EQ(third, nullptr);
  first.reset();
  waiter.join();
  EXPECT_EQ(third, freed);
}

TEST(ScratchPool, NeverLendsOneBufferTwice) {
  ScratchPool pool(3);
  std::vector<std::thread> threads;
  std::atomic<int> mixed{0};
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&pool, &mixed, t] {
      for (int i = 0; i < 200; ++i) {
        const ScratchPool::Loan loan(pool);
        std::memset(loan.data(), t, 64);
        std::this_thread::yield();
        for (int b = 0; b < 64; ++b) mixed += loan.data()[b] != t;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(mixed, 0);
}

TEST(ScratchPool, IsBoundedByTheCores) {
  EXPECT_GE(ScratchPool::default_buffers(), 4u);
  EXPECT_GE(ScratchPool::default_buffers(), 2 * std::thread::hardware_concurrency());
}

}  // namespace
}  // namespace nbdcrypt::test
