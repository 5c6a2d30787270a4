// SPDX-License-Identifier: Apache-2.0
//
// GHASH of every backend that has one, against the definition (NIST SP 800-38D, 6.3 and 6.4), bit by bit.
#include <algorithm>
#include <array>
#include <cstring>

#include "tests/aes/support.h"

namespace nbdcrypt::test {
namespace {

using Block = std::array<Byte, kBlockBytes>;

/// x * y: bit 0 is the highest of the first byte, x^128 is x^7 + x^2 + x + 1.
Block multiply(const Block& x, Block v) {
  Block z = {};
  for (std::size_t i = 0; i < 128; i++) {
    if (x[i / 8] >> (7 - i % 8) & 1) {
      for (std::size_t at = 0; at < kBlockBytes; at++) z[at] ^= v[at];
    }
    const bool carry = v[15] & 1;
    for (std::size_t at = 15; at > 0; at--) v[at] = static_cast<Byte>(v[at] >> 1 | v[at - 1] << 7);
    v[0] = static_cast<Byte>(v[0] >> 1 ^ (carry ? 0xe1 : 0));
  }
  return z;
}

Block model_ghash(Block y, const Block& h, const Byte* in, std::size_t blocks) {
  for (std::size_t i = 0; i < blocks; i++) {
    for (std::size_t at = 0; at < kBlockBytes; at++) y[at] ^= in[kBlockBytes * i + at];
    y = multiply(y, h);
  }
  return y;
}

Block block_of(const Bytes& bytes) {
  Block block;
  std::copy_n(bytes.begin(), kBlockBytes, block.begin());
  return block;
}

class Ghash : public testing::TestWithParam<const aes::Backend*> {
 protected:
  void SetUp() override {
    if (!GetParam()->ghash) GTEST_SKIP() << "has no GHASH of its own";
  }
};

INSTANTIATE_TEST_SUITE_P(Backends, Ghash, testing::ValuesIn(tested_backends()), test_name);

/// Test case 2 of D. McGrew and J. Viega, "The Galois/Counter Mode of Operation (GCM)", appendix B: ciphertext,
/// lengths.
constexpr Block kCase2Key = {0x66, 0xe9, 0x4b, 0xd4, 0xef, 0x8a, 0x2c, 0x3b,
                             0x88, 0x4c, 0xfa, 0x59, 0xca, 0x34, 0x2b, 0x2e};
constexpr Byte kCase2Data[] = {0x03, 0x88, 0xda, 0xce, 0x60, 0xb6, 0xa3, 0x92, 0xf3, 0x28, 0xc2,
                               0xb9, 0x71, 0xb2, 0xfe, 0x78, 0,    0,    0,    0,    0,    0,
                               0,    0,    0,    0,    0,    0,    0,    0,    0,    0x80};
constexpr Block kCase2Hash = {0xf3, 0x8c, 0xbb, 0x1a, 0xd6, 0x92, 0x23, 0xdc,
                              0xc3, 0x45, 0x7a, 0xe5, 0xb6, 0xb0, 0xf8, 0x85};

TEST(GhashModel, GivesThePublishedHash) { EXPECT_EQ(kCase2Hash, model_ghash({}, kCase2Key, kCase2Data, 2)); }

TEST_P(Ghash, GivesThePublishedHash) {
  Block state = {};
  GetParam()->ghash(state.data(), kCase2Key.data(), kCase2Data, 2);
  EXPECT_EQ(kCase2Hash, state);
}

TEST_P(Ghash, EqualsTheModelForAnyNumberOfBlocksBetweenGuardPages) {
  for (std::size_t blocks = 0; blocks <= 70; blocks++) {
    const Bytes data = random_bytes(kBlockBytes * blocks, blocks);
    const Block h = block_of(random_bytes(kBlockBytes, blocks + 100)),
                start = block_of(random_bytes(kBlockBytes, blocks + 200));
    const Block hash = model_ghash(start, h, data.data(), blocks);
    const Guarded in(data.size() + 1), key(kBlockBytes), state(kBlockBytes);
    for (const auto place : {&Guarded::at_start, &Guarded::at_end}) {
      for (const std::size_t offset : {0, 1}) {  // aligned or not, and up to the page's end
        std::copy(data.begin(), data.end(), (in.*place)() + offset);
        std::copy(h.begin(), h.end(), (key.*place)());
        std::copy(start.begin(), start.end(), (state.*place)());
        GetParam()->ghash((state.*place)(), (key.*place)(), (in.*place)() + offset, blocks);
        ASSERT_EQ(0, std::memcmp(hash.data(), (state.*place)(), kBlockBytes)) << blocks << " blocks at " << offset;
      }
    }
  }
}

TEST_P(Ghash, KeysOfOneBitReachEveryReduction) {
  const Bytes data = random_bytes(kBlockBytes * 9, 3);
  for (std::size_t bit = 0; bit < 128; bit++) {
    Block h = {}, state = {};
    h[bit / 8] = static_cast<Byte>(0x80 >> bit % 8);
    GetParam()->ghash(state.data(), h.data(), data.data(), 9);
    ASSERT_EQ(model_ghash({}, h, data.data(), 9), state) << "x^" << bit;
  }
}

TEST_P(Ghash, ContinuesFromItsState) {
  const Bytes data = random_bytes(kBlockBytes * 40, 5);
  const Block h = block_of(random_bytes(kBlockBytes, 6));
  for (std::size_t first = 0; first <= 40; first++) {
    Block state = {};
    GetParam()->ghash(state.data(), h.data(), data.data(), first);
    GetParam()->ghash(state.data(), h.data(), data.data() + kBlockBytes * first, 40 - first);
    ASSERT_EQ(model_ghash({}, h, data.data(), 40), state) << first;
  }
}

}  // namespace
}  // namespace nbdcrypt::test
