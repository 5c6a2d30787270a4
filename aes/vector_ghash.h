// SPDX-License-Identifier: Apache-2.0
//
// GHASH (NIST SP 800-38D, 6.4) by carry-less multiplication of 64-bit halves. Blocks are numbers as they stand, the
// first byte the highest: the coefficient of x^0 is the highest bit. So a product of two blocks comes out one place too
// low in its 256 bits, which is mended by using H * x^-1 for H. Four blocks are multiplied by H^4, H^3, H^2 and H and
// reduced once. The instructions are those of M, which has
//   Block                     a block as a number: load(p), store(p), a ^ b, from(high, low)
//   Factor(Block)             a block in the form that multiply_add wants
//   Product                   sums of products, begins as zero
//   multiply_add(Product&, Block, const Factor&)
//   reduce(const Product&)    the Block, modulo x^128 + x^7 + x^2 + x + 1
#pragma once

#include <string.h>

#include <bit>

#include "aes/backend.h"

namespace nbdcrypt::aes {
namespace {

/// x^-1 = x^127 + x^6 + x + 1, and that of a product's upper half: x^7 + x^2 + x, as the halves of a block.
inline constexpr uint64_t kGhashHigh = uint64_t{0xc2} << 56, kGhashLow = 1;

/// h * x^-1, without a branch.
template <class M>
[[gnu::always_inline]] inline typename M::Block ghash_key(const Byte h[16]) noexcept {
  uint64_t half[2];
  memcpy(half, h, sizeof half);
  if constexpr (std::endian::native == std::endian::little) {
    half[0] = __builtin_bswap64(half[0]), half[1] = __builtin_bswap64(half[1]);
  }
  const uint64_t carry = 0 - (half[0] >> 63);
  return M::Block::from((half[0] << 1 | half[1] >> 63) ^ (carry & kGhashHigh), half[1] << 1 ^ (carry & kGhashLow));
}

template <class M>
[[gnu::always_inline]] inline typename M::Block ghash_multiply(typename M::Block a,
                                                               const typename M::Factor& b) noexcept {
  typename M::Product product;
  M::multiply_add(product, a, b);
  return M::reduce(product);
}

template <class M>
[[gnu::flatten]] void ghash_by(Byte state[16], const Byte h[16], const Byte* in, size_t blocks) noexcept {
  using Block = typename M::Block;
  using Factor = typename M::Factor;
  const Block key = ghash_key<M>(h);
  const Factor h1(key);
  Block y = Block::load(state);
  if (blocks >= 8) {  // else three more powers do not pay
    const Block square = ghash_multiply<M>(key, h1), cube = ghash_multiply<M>(square, h1);
    const Factor h2(square), h3(cube), h4(ghash_multiply<M>(cube, h1));
    for (; blocks >= 4; blocks -= 4, in += 4 * kBlockBytes) {
      typename M::Product sum;
      M::multiply_add(sum, y ^ Block::load(in), h4);
      M::multiply_add(sum, Block::load(in + kBlockBytes), h3);
      M::multiply_add(sum, Block::load(in + 2 * kBlockBytes), h2);
      M::multiply_add(sum, Block::load(in + 3 * kBlockBytes), h1);
      y = M::reduce(sum);
    }
  }
  for (; blocks > 0; blocks--, in += kBlockBytes) y = ghash_multiply<M>(y ^ Block::load(in), h1);
  y.store(state);
}

}  // namespace
}  // namespace nbdcrypt::aes
