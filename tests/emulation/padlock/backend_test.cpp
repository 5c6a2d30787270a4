// SPDX-License-Identifier: Apache-2.0
//
// What only via-padlock has to get right; the suites of tests/aes and tests/modes test it as any other backend.
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "aes/cpu.h"
#include "aes/key_schedule.h"
#include "aes/registry.h"
#include "modes/chain.h"
#include "tests/emulation/padlock/silicon.h"

namespace nbdcrypt::test::padlock {
namespace {

using aes::Byte;
using Bytes = std::vector<Byte>;

const aes::Backend& named(const char* name) {
  const aes::Backend* const backend = aes::by_name(name);
  if (backend == nullptr) throw std::runtime_error(std::string(name) + ": not there");
  return *backend;
}

aes::Key key_of(std::size_t bytes, Byte seed) {
  aes::Key key;
  EXPECT_TRUE(aes::make_key(named("via-padlock"), Bytes(bytes, seed), key));
  return key;
}

class PadlockBackend : public testing::Test {
 protected:
  void SetUp() override {
    install();
    // Two keys, so that the emulation has seen a load of EFLAGS.
    encrypt(key_of(16, 1)), encrypt(key_of(16, 2));
    reset_counts();
  }
  void TearDown() override {
    EXPECT_EQ(counts().stale_keys, 0u);
    remove();
  }

  void encrypt(const aes::Key& key) { named("via-padlock").encrypt(key, data_, data_, 8); }

  alignas(16) Byte data_[128] = {};
};

TEST_F(PadlockBackend, LoadsAKeyOnlyWhenItChanged) {
  const aes::Key one = key_of(16, 3), two = key_of(32, 4);
  for (int i = 0; i < 10; ++i) encrypt(one);
  EXPECT_EQ(counts().reloads, 1u);
  for (int i = 0; i < 10; ++i) encrypt(two);
  EXPECT_EQ(counts().reloads, 2u);
  named("via-padlock").decrypt(two, data_, data_, 8);
  EXPECT_EQ(counts().reloads, 3u) << "another control word";
  encrypt(one);
  EXPECT_EQ(counts().reloads, 4u);
}

TEST_F(PadlockBackend, AnotherKeyAtTheSameAddressIsAnotherKey) {
  aes::Key key = key_of(16, 3);
  encrypt(key);
  key = key_of(16, 4);
  encrypt(key);
  EXPECT_EQ(counts().reloads, 2u);
}

TEST_F(PadlockBackend, EachThreadLoadsItsOwn) {
  const aes::Key key = key_of(16, 3);
  encrypt(key);
  std::thread([&] {
    alignas(16) Byte data[128] = {};
    for (int i = 0; i < 3; ++i) named("via-padlock").encrypt(key, data, data, 8);
  }).join();
  encrypt(key);
  EXPECT_EQ(counts().reloads, 2u);
}

/// Through Chain, against the generic backend.
void expect_like_generic(const aes::Backend& backend, aes::Op op, const Bytes& in, const Bytes& iv, std::size_t unit) {
  for (const std::size_t key_bytes : {16u, 24u, 32u}) {
    Bytes out[2], ivs[2] = {iv, iv};
    for (const bool is_generic : {false, true}) {
      const aes::Backend& by = is_generic ? named("generic") : backend;
      aes::Key key;
      ASSERT_TRUE(aes::make_key(by, Bytes(key_bytes, 0x42), key));
      out[is_generic].resize(in.size());
      modes::Chain(by, op, modes::Offload::batch)
          .run(key, {.in = in.data(),
                     .out = out[is_generic].data(),
                     .iv = ivs[is_generic].data(),
                     .unit = unit,
                     .count = in.size() / unit});
    }
    EXPECT_TRUE(out[0] == out[1]) << modes::name_of(op) << ", key of " << key_bytes << " bytes, units of " << unit;
    EXPECT_TRUE(op <= aes::ecb_dec || ivs[0] == ivs[1]) << modes::name_of(op) << ", units of " << unit;
  }
}

TEST_F(PadlockBackend, CarriesOutOfTheSixteenBitsThatTheUnitCounts) {
  for (const aes::Op op : {aes::ctr, aes::ctr32}) {
    for (const std::size_t blocks_until_carry : {1u, 2u, 7u, 8u, 9u, 255u, 256u}) {
      Bytes iv(16 * 3, 0xff);
      for (std::size_t i = 0; i < 3; ++i) {
        const std::size_t low = 0x10000 - blocks_until_carry;
        iv[16 * i + 14] = static_cast<Byte>(low >> 8), iv[16 * i + 15] = static_cast<Byte>(low);
        iv[16 * i + 13 - i] = 7;  // where the carry ends
      }
      expect_like_generic(named("via-padlock"), op, Bytes(3 * 4096, 0x11), iv, 4096);
    }
  }
}

TEST_F(PadlockBackend, RunsOnTheFirstVersionOfTheUnit) {
  install({.ecb_fetch_blocks = 2, .cbc_fetch_blocks = 1, .other_fetch_blocks = 1, .has_ace2 = false});
  const aes::Backend& backend = named("via-padlock-c3");
  EXPECT_EQ(backend.offload.of[aes::ctr], nullptr);
  EXPECT_EQ(backend.needs & aes::cpu::ace2, 0u);
  for (unsigned op = 0; op < aes::kOps; ++op) {
    for (const std::size_t unit : {16u, 48u, 4096u}) {
      expect_like_generic(backend, static_cast<aes::Op>(op), Bytes(5 * unit, 0x33), Bytes(16 * 5, 0x44), unit);
    }
  }
}

TEST_F(PadlockBackend, SaysWhatItAsksOfItsCaller) {
  const aes::Limits& limits = named("via-padlock").limits;
  EXPECT_TRUE(modes::can_honour(limits));
  EXPECT_EQ(limits.align, 16u);
  EXPECT_EQ(limits.iv_align, 16u);
  EXPECT_EQ(limits.overread, 112u) << "eight blocks are fetched for one";
  EXPECT_EQ(limits.fetch, 128u);
}

TEST_F(PadlockBackend, ABatchBeyondItsLimitIsSplit) {
  expect_like_generic(named("via-padlock"), aes::xts_enc, Bytes(3 * 131072, 1), Bytes(16 * 3, 2), 131072);
  expect_like_generic(named("via-padlock"), aes::cbc_enc, Bytes(2 * 393216, 1), Bytes(16 * 2, 2), 393216);
}

}  // namespace
}  // namespace nbdcrypt::test::padlock
