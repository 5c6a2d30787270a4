// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "aes/key_schedule.h"
#include "aes/registry.h"
#include "tests/aes/support.h"

namespace nbdcrypt::test {
namespace {

class Blocks : public testing::TestWithParam<const aes::Backend*> {};

INSTANTIATE_TEST_SUITE_P(Backends, Blocks, testing::ValuesIn(tested_backends()), test_name);

/// The generic backend, one block a call: the paths that take many at a time are tested against it.
Bytes block_by_block(aes::Blocks aes::Backend::*direction, std::size_t key_bytes, const Bytes& in) {
  const aes::Backend& generic = *aes::by_name("generic");
  const aes::Key key = test_key(generic, key_bytes);
  Bytes out(in.size());
  for (std::size_t at = 0; at < in.size(); at += kBlockBytes) (generic.*direction)(key, &in[at], &out[at], 1);
  return out;
}

TEST_P(Blocks, AnyNumberAtAnyAlignmentBetweenGuardPages) {
  for (const auto direction : {&aes::Backend::encrypt, &aes::Backend::decrypt}) {
    for (const std::size_t key_bytes : kKeyBytes) {
      const aes::Key key = test_key(*GetParam(), key_bytes);
      const Bytes in = random_bytes(16 * 70, key_bytes), whole = block_by_block(direction, key_bytes, in);
      for (std::size_t blocks = 0; blocks <= 70; blocks++) {
        const Guarded from(16 * blocks + 15), to(16 * blocks + 15);
        const std::size_t offset = blocks % 16;
        Byte* const source = from.at_end() + offset;  // ends at the guard page when offset is 15
        std::memcpy(source, in.data(), 16 * blocks);
        (GetParam()->*direction)(key, source, to.at_start() + (15 - offset), blocks);
        ASSERT_EQ(0, std::memcmp(to.at_start() + (15 - offset), whole.data(), 16 * blocks)) << blocks << " blocks";
      }
    }
  }
}

TEST_P(Blocks, EndAtAGuardPageAndInPlace) {
  for (const auto direction : {&aes::Backend::encrypt, &aes::Backend::decrypt}) {
    for (const std::size_t key_bytes : kKeyBytes) {
      const aes::Key key = test_key(*GetParam(), key_bytes);
      const Bytes in = random_bytes(16 * 70, key_bytes), whole = block_by_block(direction, key_bytes, in);
      for (std::size_t blocks = 1; blocks <= 70; blocks++) {
        const Guarded space(16 * blocks);
        for (const auto place : {&Guarded::at_start, &Guarded::at_end}) {
          Byte* const data = (space.*place)();
          std::memcpy(data, in.data(), 16 * blocks);
          (GetParam()->*direction)(key, data, data, blocks);
          ASSERT_EQ(0, std::memcmp(data, whole.data(), 16 * blocks)) << blocks << " blocks";
        }
      }
    }
  }
}

TEST_P(Blocks, WritesNoByteTooMany) {
  const aes::Key key = test_key(*GetParam(), 32);
  const Bytes in = random_bytes(16 * 70, 1);
  for (std::size_t blocks = 0; blocks < 70; blocks++) {
    Bytes out(in.size(), 0xa5);
    GetParam()->encrypt(key, in.data(), out.data(), blocks);
    for (std::size_t at = 16 * blocks; at < out.size(); at++)
      ASSERT_EQ(0xa5, out[at]) << blocks << " blocks, byte " << at;
  }
}

TEST_P(Blocks, ThousandsOfBlocksAndBack) {
  for (const std::size_t key_bytes : kKeyBytes) {
    const aes::Key key = test_key(*GetParam(), key_bytes);
    const Bytes in = random_bytes(16 * 5003, 7);
    Bytes data = in;
    GetParam()->encrypt(key, data.data(), data.data(), 5003);
    EXPECT_NE(in, data);
    GetParam()->decrypt(key, data.data(), data.data(), 5003);
    EXPECT_EQ(in, data);
  }
}

TEST(MakeKey, RefusesOtherLengthsAndLeavesTheKeyAlone) {
  for (std::size_t size = 0; size <= 64; size++) {
    if (size == 16 || size == 24 || size == 32) continue;
    aes::Key key;
    std::memset(static_cast<void*>(&key), 0x5a, sizeof key);
    const Bytes bytes(size);
    EXPECT_FALSE(aes::make_key(aes::best(), bytes, key)) << size;
    const Bytes untouched(sizeof key, 0x5a);
    EXPECT_EQ(0, std::memcmp(&key, untouched.data(), sizeof key)) << size;
  }
}

TEST(MakeKey, GivesEachKeyANewSerial) {
  const Bytes bytes(16);
  aes::Key first, second;
  ASSERT_TRUE(aes::make_key(aes::best(), bytes, first));
  ASSERT_TRUE(aes::make_key(aes::best(), bytes, second));
  EXPECT_NE(0u, first.serial);
  EXPECT_LT(first.serial, second.serial);
}

}  // namespace
}  // namespace nbdcrypt::test
