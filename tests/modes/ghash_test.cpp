// SPDX-License-Identifier: Apache-2.0
//
// The generic GHASH against its definition (SP 800-38D, algorithm 1), bit by bit.
#include "modes/ghash.h"

#include "tests/modes/samples.h"

namespace nbdcrypt::modes {
namespace {

using test::Byte;
using test::Bytes;
using test::some_bytes;

bool bit(const Bytes& block, std::size_t i) { return block[i / 8] >> (7 - i % 8) & 1; }

/// x * y, both of 16 bytes.
Bytes multiply(const Bytes& x, const Bytes& y) {
  Bytes product(16), v = y;
  for (std::size_t i = 0; i < 128; ++i) {
    for (std::size_t j = 0; bit(x, i) && j < 16; ++j) product[j] ^= v[j];
    const bool carry = bit(v, 127);
    for (std::size_t j = 16; j-- > 0;) v[j] = static_cast<Byte>(v[j] >> 1 | (j > 0 ? v[j - 1] << 7 : 0));
    if (carry) v[0] ^= 0xe1;
  }
  return product;
}

Bytes by_definition(Bytes state, const Bytes& h, const Bytes& in) {
  for (std::size_t at = 0; at < in.size(); at += 16) {
    for (std::size_t j = 0; j < 16; ++j) state[j] ^= in[at + j];
    state = multiply(state, h);
  }
  return state;
}

const Bytes kKeys[] = {Bytes(16), Bytes(16, 0xff), some_bytes(16, 1), some_bytes(16, 2), {0x80}, {0, 1}};

TEST(Ghash, IsThatOfTheStandard) {
  for (Bytes h : kKeys) {
    h.resize(16);
    for (const std::size_t blocks : {0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 64, 65, 70, 100}) {
      for (const Bytes& in : {some_bytes(16 * blocks, blocks), Bytes(16 * blocks, 0xff)}) {
        const Bytes start = some_bytes(16, 77);
        Bytes state = start;
        generic::ghash(state.data(), h.data(), in.data(), blocks);
        ASSERT_EQ(state, by_definition(start, h, in)) << blocks << " blocks";
      }
    }
  }
}

}  // namespace
}  // namespace nbdcrypt::modes
