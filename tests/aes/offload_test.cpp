// SPDX-License-Identifier: Apache-2.0
//
// Every offload kernel of every backend against the model, over all shapes in which batches come.
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <map>
#include <random>
#include <string>

#include "aes/registry.h"
#include "tests/aes/support.h"

namespace nbdcrypt::test {
namespace {

struct Places {
  std::size_t in, out, iv;
};

class Offload : public testing::TestWithParam<const aes::Backend*> {
 protected:
  const aes::Backend& backend() const { return *GetParam(); }

  /// Calls check(op, key bytes, key) for every kernel and key size.
  template <class F>
  void for_each_kernel(const F& check) const {
    for (const aes::Op op : offloaded(backend())) {
      for (const std::size_t key_bytes : kKeyBytes) {
        SCOPED_TRACE(std::string(op_name(op)) + " with a key of " + std::to_string(key_bytes) + " bytes");
        check(op, key_bytes, test_key(backend(), key_bytes));
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }

  void run(aes::Op op, const aes::Key& key, const aes::Run& run) const {
    backend().offload.of[op](key, run);
    bytes_tested[backend().name] += run.unit * run.count;
  }

  /// A batch whose buffers lie at the given distances from boundaries of 64 bytes; all bytes are checked, and those
  /// around the buffers.
  void run_at(aes::Op op, const Expected& e, const aes::Key& key, std::size_t unit, std::size_t count, const Places& at,
              bool in_place) const;

  static void TearDownTestSuite() {
    for (const auto& [name, bytes] : bytes_tested) std::printf("%s: %" PRIu64 " bytes tested\n", name.c_str(), bytes);
  }

  bool takes(std::size_t unit, std::size_t count) const { return unit * count <= backend().limits.max_bytes; }

 private:
  static inline std::map<std::string, std::uint64_t> bytes_tested;
};

INSTANTIATE_TEST_SUITE_P(Backends, Offload, testing::ValuesIn(tested_backends()), test_name);

/// A buffer whose surroundings must not change, at a given distance from a 64-byte boundary.
class Fenced {
 public:
  Fenced(std::size_t offset, const Byte* content, std::size_t size)
      : space_(size + 2 * kFence + 64, kFill), size_(size) {
    const std::size_t past = reinterpret_cast<std::uintptr_t>(space_.data() + kFence) % 64;
    begin_ = space_.data() + kFence + (64 - past) % 64 + offset;
    if (content) std::memcpy(begin_, content, size);
  }
  Byte* data() { return begin_; }
  bool intact() const {
    for (const Byte& byte : space_) {
      if (!(&byte >= begin_ && &byte < begin_ + size_) && byte != kFill) return false;
    }
    return true;
  }

 private:
  static constexpr std::size_t kFence = 80;
  static constexpr Byte kFill = 0xa5;
  Bytes space_;
  std::size_t size_;
  Byte* begin_;
};

TEST_P(Offload, EqualsTheModelForEveryUnitAndCount) {
  for_each_kernel([&](aes::Op op, std::size_t key_bytes, const aes::Key& key) {
    for (const std::size_t unit : kUnits) {
      const Expected& e = expected(op, key_bytes, unit);
      for (std::size_t count = 1; count <= kMaxCount && takes(unit, count); count++) {
        Fenced in(0, e.in.data(), unit * count), out(0, nullptr, unit * count), iv(0, e.iv_in.data(), 16 * count);
        run(op, key, {in.data(), out.data(), iv.data(), unit, count});
        ASSERT_EQ(0, std::memcmp(out.data(), e.out.data(), unit * count)) << count << " units of " << unit;
        ASSERT_EQ(0, std::memcmp(iv.data(), e.iv_out.data(), 16 * count) * (op > aes::ecb_dec)) << count << "*" << unit;
        ASSERT_EQ(0, std::memcmp(in.data(), e.in.data(), unit * count)) << count << " units of " << unit;
        ASSERT_TRUE(in.intact() && out.intact() && iv.intact()) << count << " units of " << unit;
      }
    }
  });
}

TEST_P(Offload, WorksInPlace) {
  for_each_kernel([&](aes::Op op, std::size_t key_bytes, const aes::Key& key) {
    for (const std::size_t unit : kUnits) {
      const Expected& e = expected(op, key_bytes, unit);
      for (std::size_t count = 1; count <= kMaxCount && takes(unit, count); count++) {
        Fenced data(0, e.in.data(), unit * count), iv(0, e.iv_in.data(), 16 * count);
        run(op, key, {data.data(), data.data(), iv.data(), unit, count});
        ASSERT_EQ(0, std::memcmp(data.data(), e.out.data(), unit * count)) << count << " units of " << unit;
        ASSERT_TRUE(data.intact() && iv.intact()) << count << " units of " << unit;
      }
    }
  });
}

void Offload::run_at(aes::Op op, const Expected& e, const aes::Key& key, std::size_t unit, std::size_t count,
                     const Places& at, bool in_place) const {
  SCOPED_TRACE(std::to_string(count) + " units of " + std::to_string(unit) + " at " + std::to_string(at.in));
  const std::size_t bytes = unit * count;
  Fenced in(at.in, e.in.data(), bytes), other(at.out, nullptr, bytes), iv(at.iv, e.iv_in.data(), 16 * count);
  Fenced& out = in_place ? in : other;
  run(op, key, {in.data(), out.data(), iv.data(), unit, count});
  ASSERT_EQ(0, std::memcmp(out.data(), e.out.data(), bytes));
  ASSERT_EQ(0, op > aes::ecb_dec ? std::memcmp(iv.data(), e.iv_out.data(), 16 * count) : 0);
  ASSERT_TRUE(in.intact() && other.intact() && iv.intact());
}

// Kernels with limits see multiples of what they ask for here, and all else through Chain in tests/modes.
TEST_P(Offload, TakesEveryMisalignmentThatItsLimitsAllow) {
  const aes::Limits& limits = backend().limits;
  const std::size_t offsets = limits.align == 1 ? 16 : 64 / limits.align;
  for_each_kernel([&](aes::Op op, std::size_t key_bytes, const aes::Key& key) {
    for (const std::size_t unit : kUnits) {
      for (const std::size_t count : {1, 3, 16, 33}) {
        for (std::size_t offset = 1; offset < offsets && takes(unit, count); offset++) {
          const Places at{offset * limits.align % 64, (15 - offset) * limits.align % 64,
                          (offset + 7) * limits.iv_align % 64};
          run_at(op, expected(op, key_bytes, unit), key, unit, count, at, offset % 2 == 0);
          if (testing::Test::HasFatalFailure()) return;
        }
      }
    }
  });
}

TEST_P(Offload, EqualsTheModelForARandomSampleOfTheRest) {
  const aes::Limits& limits = backend().limits;
  std::mt19937 random(20051);
  const auto below = [&](std::size_t bound) { return static_cast<std::size_t>(random()) % bound; };
  for_each_kernel([&](aes::Op op, std::size_t key_bytes, const aes::Key& key) {
    for (int sample = 0; sample < 12; sample++) {
      const std::size_t unit = 16 * (1 + below(512)), count = 1 + below(kMaxCount);
      const Places at{below(64) * limits.align % 64, below(64) * limits.align % 64, below(64) * limits.iv_align % 64};
      if (!takes(unit, count)) continue;
      Expected e{.in = random_bytes(unit * count, random()),
                 .out = {},
                 .iv_in = random_bytes(16 * count, random()),
                 .iv_out = {}};
      e.out.resize(e.in.size()), e.iv_out = e.iv_in;
      model(op, test_key(*aes::by_name("generic"), key_bytes),
            {e.in.data(), e.out.data(), e.iv_out.data(), unit, count});
      run_at(op, e, key, unit, count, at, below(2) == 0);
      if (testing::Test::HasFatalFailure()) return;
    }
  });
}

TEST_P(Offload, TouchesNothingOutsideItsBuffers) {
  if (backend().limits.overread != 0) GTEST_SKIP() << "may read behind its input";
  for_each_kernel([&](aes::Op op, std::size_t key_bytes, const aes::Key& key) {
    for (const std::size_t unit : kUnits) {
      const Expected& e = expected(op, key_bytes, unit);
      for (const std::size_t count : {1, 2, 3, 5, 8, 15, 17, 33}) {
        if (!takes(unit, count)) continue;
        const Guarded in(unit * count), out(unit * count), iv(16 * count);
        for (const auto place : {&Guarded::at_start, &Guarded::at_end}) {
          std::memcpy((in.*place)(), e.in.data(), unit * count);
          std::memcpy((iv.*place)(), e.iv_in.data(), 16 * count);
          run(op, key, {(in.*place)(), (out.*place)(), (iv.*place)(), unit, count});
          ASSERT_EQ(0, std::memcmp((out.*place)(), e.out.data(), unit * count)) << count << " units of " << unit;
        }
      }
    }
  });
}

TEST_P(Offload, ContinuesAUnitFromItsIv) {
  for_each_kernel([&](aes::Op op, std::size_t key_bytes, const aes::Key& key) {
    for (const std::size_t unit : {32, 112, 512, 4080}) {
      for (const std::size_t count : {1, 3, 16, 33}) {
        const Expected& e = expected(op, key_bytes, unit);
        const std::size_t first = unit / 16 / 3 * 16 + 16, rest = unit - first;
        Bytes heads, tails, iv(e.iv_in.begin(), e.iv_in.begin() + 16 * count);
        for (std::size_t i = 0; i < count; i++) {
          heads.insert(heads.end(), &e.in[unit * i], &e.in[unit * i] + first);
          tails.insert(tails.end(), &e.in[unit * i] + first, &e.in[unit * i] + unit);
        }
        run(op, key, {heads.data(), heads.data(), iv.data(), first, count});
        run(op, key, {tails.data(), tails.data(), iv.data(), rest, count});
        for (std::size_t i = 0; i < count; i++) {
          ASSERT_EQ(0, std::memcmp(&heads[first * i], &e.out[unit * i], first)) << count << " units of " << unit;
          ASSERT_EQ(0, std::memcmp(&tails[rest * i], &e.out[unit * i + first], rest)) << count << " units of " << unit;
        }
      }
    }
  });
}

TEST_P(Offload, CountersCarryWhereTheModelSays) {
  for (const aes::Op op : {aes::ctr, aes::ctr32}) {
    if (!backend().offload.of[op]) continue;
    const aes::Key key = test_key(backend(), 16);
    for (unsigned before = 0; before < 70; before++) {  // blocks until the carry
      constexpr std::size_t kUnit = 16 * 80, kCount = 3;
      Bytes in = random_bytes(kUnit * kCount, before), out(in.size()), expected_out(in.size());
      Bytes iv(16 * kCount, 0xff);
      for (std::size_t i = 0; i < kCount; i++) iv[16 * i + 15] = static_cast<Byte>(0xff - before);
      iv[16 + 7] = 0x12;  // the carry of the second unit stops early, that of the third at 2^64
      std::memset(&iv[32], 0, 8);
      Bytes expected_iv = iv;
      model(op, key, {in.data(), expected_out.data(), expected_iv.data(), kUnit, kCount});
      run(op, key, {in.data(), out.data(), iv.data(), kUnit, kCount});
      ASSERT_EQ(expected_out, out) << op_name(op) << " " << before;
      ASSERT_EQ(expected_iv, iv) << op_name(op) << " " << before;
    }
  }
}

TEST_P(Offload, EcbNeedsNoIvAndLeavesItAlone) {
  for (const aes::Op op : {aes::ecb_enc, aes::ecb_dec}) {
    if (!backend().offload.of[op]) continue;
    const Expected& e = expected(op, 32, 512);
    Bytes out(e.in.size()), iv = e.iv_in;
    run(op, test_key(backend(), 32), {e.in.data(), out.data(), nullptr, 512, kMaxCount});
    EXPECT_EQ(e.out, out) << op_name(op);
    run(op, test_key(backend(), 32), {e.in.data(), out.data(), iv.data(), 512, kMaxCount});
    EXPECT_EQ(e.iv_in, iv) << op_name(op);
  }
}

TEST_P(Offload, AnEmptyBatchTouchesNothing) {
  for_each_kernel([&](aes::Op op, std::size_t, const aes::Key& key) {
    Byte byte = 1;
    run(op, key, {&byte, &byte, &byte, 512, 0});
    EXPECT_EQ(1, byte);
  });
}

}  // namespace
}  // namespace nbdcrypt::test
