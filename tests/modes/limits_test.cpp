// SPDX-License-Identifier: Apache-2.0
//
// The limits of hardware, kept by Chain whatever it is given: alignment, bytes read behind the input, bytes a call.
#include <gtest/gtest.h>

#include "modes/chain.h"
#include "tests/modes/limited_backend.h"
#include "tests/modes/samples.h"
#include "tests/support/guarded_buffer.h"

namespace nbdcrypt::modes {
namespace {

using test::Byte;
using test::Bytes;
using test::GuardedBuffer;
using test::kernel_log;

struct Case {
  const char* name;
  aes::Limits limits;
};

const Case kCases[] = {
    {"None", {}},
    {"Padlock", {.align = 16, .iv_align = 16, .overread = 112, .fetch = 128, .max_bytes = 256 * 1024}},
    {"Fetch", {.overread = 48, .fetch = 64, .max_bytes = 640}},
    {"Align64", {.align = 64, .iv_align = 64}},
    {"IvAlign16", {.iv_align = 16}},
    {"Overread1", {.overread = 1}},
    {"Overread1024", {.overread = 1024}},
    {"OneBlockACall", {.max_bytes = 16}},
    {"MaxBytes100", {.max_bytes = 100}},
    {"MaxBytes1000", {.max_bytes = 1000}},
    {"MaxBytes65536", {.max_bytes = 65536}},
    {"All", {.align = 64, .iv_align = 32, .overread = 200, .max_bytes = 1100}},
    {"AllLarge", {.align = 32, .iv_align = 64, .overread = 1024, .max_bytes = 9000}},
};

class KernelLimits : public testing::TestWithParam<Case> {
 protected:
  void expect_limits_kept() {
    EXPECT_EQ(kernel_log().misaligned, 0u);
    EXPECT_EQ(kernel_log().too_large, 0u);
    EXPECT_EQ(kernel_log().not_whole_blocks, 0u);
    EXPECT_EQ(kernel_log().overlapping, 0u);
  }
};

/// Where the buffers lie: bytes behind a 64-byte boundary, and in place or not.
struct Place {
  std::size_t in, out, iv;
  bool in_place;
};

constexpr Place kPlaces[] = {{0, 0, 0, true},  {0, 0, 0, false},  {16, 16, 16, true}, {16, 48, 32, false},
                             {0, 1, 0, false}, {1, 0, 16, false}, {3, 3, 5, true},    {0, 0, 1, true}};

struct Sample {
  std::size_t unit, count;
  Bytes data, iv, right, right_iv;
};

Sample sample(const aes::Key& key, aes::Op op, std::size_t unit, std::size_t count) {
  Sample sample{.unit = unit,
                .count = count,
                .data = test::some_bytes(unit * count, 7),
                .iv = test::some_bytes(16 * count, 8),
                .right = Bytes(unit * count),
                .right_iv = {}};
  sample.right_iv = sample.iv;
  Chain(*aes::by_name("generic"), op, Offload::batch)
      .run(key, {.in = sample.data.data(),
                 .out = sample.right.data(),
                 .iv = sample.right_iv.data(),
                 .unit = unit,
                 .count = count});
  return sample;
}

/// A slack that puts the first byte of a guarded buffer `offset` bytes behind a 64-byte boundary, as near to the guard
/// page as that allows.
std::size_t slack(std::size_t bytes, std::size_t offset) { return (128 - bytes % 64 - offset) % 64; }

/// Runs a sample over buffers that end (as far as the alignment lets them) at a page that must not be touched.
void check_place(const Chain& chain, const aes::Key& key, const Sample& sample, const Place& place) {
  const std::size_t bytes = sample.data.size(), iv_bytes = sample.iv.size();
  GuardedBuffer in(bytes, GuardedBuffer::Edge::back, slack(bytes, place.in));
  GuardedBuffer out(bytes, GuardedBuffer::Edge::back, slack(bytes, place.out));
  GuardedBuffer iv(iv_bytes, GuardedBuffer::Edge::back, slack(iv_bytes, place.iv));
  ASSERT_EQ(reinterpret_cast<std::uintptr_t>(in.data()) % 64, place.in);
  std::ranges::copy(sample.data, in.data());
  std::ranges::copy(sample.iv, iv.data());
  Byte* const to = place.in_place ? in.data() : out.data();
  chain.run(key, {.in = in.data(), .out = to, .iv = iv.data(), .unit = sample.unit, .count = sample.count});

  ASSERT_TRUE(std::equal(sample.right.begin(), sample.right.end(), to));
  ASSERT_TRUE(std::ranges::equal(iv.bytes(), sample.right_iv));
  ASSERT_TRUE(place.in_place || std::ranges::equal(in.bytes(), sample.data));
}

TEST_P(KernelLimits, AreKeptAndChangeNoResult) {
  const aes::Backend backend = test::limited_backend(GetParam().limits);
  const aes::Key key = test::key_of(backend, test::some_bytes(16, 9));
  const std::pair<std::size_t, std::size_t> shapes[] = {{16, 1},  {16, 33},  {48, 2},   {48, 200},
                                                        {512, 5}, {4096, 3}, {5008, 1}, {5008, 2}};
  for (const aes::Op op : test::all_ops()) {
    for (const auto& [unit, count] : shapes) {
      const Sample in = sample(key, op, unit, count);
      for (const Offload offload : {Offload::buffer, Offload::batch}) {
        const Chain chain(backend, op, offload);
        for (const Place& place : kPlaces) {
          SCOPED_TRACE(std::string(name_of(op)) + " " + name_of(offload) + " " + std::to_string(unit) + " " +
                       std::to_string(count) + " at " + std::to_string(place.in) + " " + std::to_string(place.out));
          check_place(chain, key, in, place);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
  EXPECT_GT(kernel_log().calls, 0u);
  expect_limits_kept();
}

INSTANTIATE_TEST_SUITE_P(, KernelLimits, testing::ValuesIn(kCases),
                         [](const testing::TestParamInfo<Case>& test) { return test.param.name; });

/// A batch of `count` units of `unit` bytes through XTS on a backend with these limits, all buffers 64-byte aligned.
struct Seen {
  std::size_t calls, direct_calls, largest_bytes;
  bool operator==(const Seen&) const = default;
};

Seen calls_for(const aes::Limits& limits, Offload offload, std::size_t unit, std::size_t count) {
  const aes::Backend backend = test::limited_backend(limits);
  test::OffsetBuffer data(unit * count, 0), iv(16 * count, 0);
  kernel_log().watched = data.data();
  kernel_log().watched_bytes = unit * count;
  Chain(backend, aes::xts_enc, offload)
      .run(test::key_of(backend, test::some_bytes(16, 1)),
           {.in = data.data(), .out = data.data(), .iv = iv.data(), .unit = unit, .count = count});
  return {kernel_log().calls, kernel_log().direct_calls, kernel_log().largest_bytes};
}

TEST(KernelCalls, WithoutLimitsThereIsOneForTheBatch) {
  EXPECT_EQ(calls_for({}, Offload::batch, 512, 64), (Seen{1, 1, 64 * 512}));
}

TEST(KernelCalls, BufferLevelMakesOneForEachUnit) {
  EXPECT_EQ(calls_for({}, Offload::buffer, 512, 64), (Seen{64, 64, 512}));
}

TEST(KernelCalls, UnitsOfWholeFetchesAreNotBounced) {
  constexpr aes::Limits kPadlock{.overread = 112, .fetch = 128, .max_bytes = 256 * 1024};
  EXPECT_EQ(calls_for(kPadlock, Offload::batch, 512, 64), (Seen{1, 1, 64 * 512}));
  EXPECT_EQ(calls_for(kPadlock, Offload::batch, 496, 64), (Seen{2, 1, 63 * 496})) << "the last one is";
}

TEST(KernelCalls, MaxBytesSplitsByUnitsFirst) {
  EXPECT_EQ(calls_for({.max_bytes = 2000}, Offload::batch, 512, 7), (Seen{3, 3, 3 * 512}));
}

TEST(KernelCalls, MaxBytesSplitsInsideAUnitWhenItMust) {
  // 448 is 500 rounded down to the alignment that a part's start must have.
  EXPECT_EQ(calls_for({.max_bytes = 500}, Offload::batch, 512, 3), (Seen{6, 6, 448}));
}

TEST(KernelCalls, OnlyTheTailOfABatchIsBounced) {
  EXPECT_EQ(calls_for({.overread = 128}, Offload::batch, 512, 64), (Seen{2, 1, 63 * 512}));
  EXPECT_EQ(calls_for({.overread = 513}, Offload::batch, 512, 64), (Seen{2, 1, 62 * 512}));
}

TEST(KernelCalls, BufferLevelBouncesTheLastUnitAlone) {
  EXPECT_EQ(calls_for({.overread = 128}, Offload::buffer, 512, 64), (Seen{64, 63, 512}));
}

TEST(KernelCalls, AreCountedForABackendOfATest) {
  const aes::Backend backend = test::limited_backend({.max_bytes = 512});
  const std::uint64_t before = calls_of(backend).offload[aes::ecb_enc];
  Bytes data(2048);
  Chain(backend, aes::ecb_enc, Offload::batch)
      .run(test::key_of(backend, test::some_bytes(16, 1)),
           {.in = data.data(), .out = data.data(), .iv = nullptr, .unit = 512, .count = 4});
  EXPECT_EQ(calls_of(backend).offload[aes::ecb_enc] - before, 4u);
}

TEST(CanHonour, HasBounds) {
  EXPECT_TRUE(can_honour({.align = 64, .iv_align = 64, .overread = 1024, .max_bytes = 16}));
  EXPECT_FALSE(can_honour({.align = 128}));
  EXPECT_FALSE(can_honour({.align = 24}));
  EXPECT_FALSE(can_honour({.align = 0}));
  EXPECT_FALSE(can_honour({.iv_align = 128}));
  EXPECT_FALSE(can_honour({.overread = 1025}));
  EXPECT_FALSE(can_honour({.max_bytes = 15}));
  EXPECT_TRUE(can_honour({.fetch = 64, .max_bytes = 640}));
  EXPECT_FALSE(can_honour({.fetch = 64, .max_bytes = 650}));
  EXPECT_FALSE(can_honour({.fetch = 48, .max_bytes = 96}));
}

TEST(CanHonour, HoldsForEveryBackendOfThisBuild) {
  for (const aes::Backend* backend : aes::built()) EXPECT_TRUE(can_honour(backend->limits)) << backend->name;
}

TEST(CanHonour, KernelsThatAskForMoreAreNotUsed) {
  const aes::Backend backend = test::limited_backend({.align = 128});
  Bytes data(2048);
  Chain(backend, aes::ecb_enc, Offload::batch)
      .run(test::key_of(backend, test::some_bytes(16, 1)),
           {.in = data.data(), .out = data.data(), .iv = nullptr, .unit = 512, .count = 4});
  EXPECT_EQ(kernel_log().calls, 0u);
  EXPECT_NE(data, Bytes(2048));
}

}  // namespace
}  // namespace nbdcrypt::modes
