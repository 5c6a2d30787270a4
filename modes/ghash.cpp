// SPDX-License-Identifier: Apache-2.0
//
// A carry-less product by ordinary multiplication: where only every fourth bit of both factors is left, a column of the
// product sums at most sixteen bits, and its carries reach the next column that counts only if all sixteen are ones,
// which there can be in no column but the last, whose carry leaves the word. Sixteen such products make one of 64 bits.
// Only the lower half of a product is computed; the upper one is that of the reversed factors, reversed.
// The method is that of T. Pornin's BearSSL (ghash_ctmul64); multiplication takes the same time for all values on the
// processors that this is for.
#include "modes/ghash.h"

#include "base/bytes.h"

namespace nbdcrypt::modes::generic {
namespace {

constexpr std::uint64_t kEveryFourth = 0x1111111111111111;

/// The lower 64 bits of the carry-less product.
std::uint64_t multiply_low(std::uint64_t a, std::uint64_t b) noexcept {
  std::uint64_t x[4], y[4], result = 0;
  for (int i = 0; i < 4; ++i) x[i] = a & kEveryFourth << i, y[i] = b & kEveryFourth << i;
  for (int i = 0; i < 4; ++i) {
    std::uint64_t sum = 0;
    for (int j = 0; j < 4; ++j) sum ^= x[j] * y[(i - j) & 3];
    result |= sum & kEveryFourth << i;
  }
  return result;
}

std::uint64_t reverse(std::uint64_t x) noexcept {
  x = (x & 0x5555555555555555) << 1 | (x >> 1 & 0x5555555555555555);
  x = (x & 0x3333333333333333) << 2 | (x >> 2 & 0x3333333333333333);
  x = (x & 0x0f0f0f0f0f0f0f0f) << 4 | (x >> 4 & 0x0f0f0f0f0f0f0f0f);
  return __builtin_bswap64(x);
}

/// A factor, and its bits in reverse.
struct Half {
  std::uint64_t bits, reversed;

  explicit Half(std::uint64_t x) noexcept : bits(x), reversed(reverse(x)) {}
  Half(std::uint64_t x, std::uint64_t y) noexcept : bits(x), reversed(y) {}
  friend Half operator^(Half a, Half b) noexcept { return {a.bits ^ b.bits, a.reversed ^ b.reversed}; }
};

struct Product {
  std::uint64_t low, high;

  friend Product operator^(Product a, Product b) noexcept { return {a.low ^ b.low, a.high ^ b.high}; }
};

Product operator*(Half a, Half b) noexcept {
  return {multiply_low(a.bits, b.bits), reverse(multiply_low(a.reversed, b.reversed)) >> 1};
}

/// A block as a number of 128 bits, first byte highest; coefficient x^0 is the highest bit.
struct Element {
  std::uint64_t high, low;
};

/// The 256 bits of a product of two reversed polynomials lie one place too low. Those beyond x^127, the lower half
/// then, come back by x^128 = x^7 + x^2 + x + 1 (SP 800-38D, 6.3), 64 at a time.
Element reduce(Product low, Product high) noexcept {
  std::uint64_t v[4] = {low.low, low.high, high.low, high.high};
  for (int i = 3; i > 0; --i) v[i] = v[i] << 1 | v[i - 1] >> 63;
  v[0] <<= 1;
  for (int i = 0; i < 2; ++i) {
    v[i + 2] ^= v[i] ^ v[i] >> 1 ^ v[i] >> 2 ^ v[i] >> 7;
    v[i + 1] ^= v[i] << 63 ^ v[i] << 62 ^ v[i] << 57;
  }
  return {.high = v[3], .low = v[2]};
}

}  // namespace

void ghash(aes::Byte state[16], const aes::Byte h[16], const aes::Byte* in, std::size_t blocks) noexcept {
  const Half h1(base::load_be<std::uint64_t>(h)), h0(base::load_be<std::uint64_t>(h + 8)), sum = h0 ^ h1;
  Element y{.high = base::load_be<std::uint64_t>(state), .low = base::load_be<std::uint64_t>(state + 8)};
  for (; blocks > 0; --blocks, in += aes::kBlockBytes) {
    const Half y1(y.high ^ base::load_be<std::uint64_t>(in)), y0(y.low ^ base::load_be<std::uint64_t>(in + 8));
    // Karatsuba: three products for four.
    Product low = y0 * h0, high = y1 * h1;
    const Product middle = (y0 ^ y1) * sum ^ low ^ high;
    low.high ^= middle.low, high.low ^= middle.high;
    y = reduce(low, high);
  }
  base::store_be(state, y.high);
  base::store_be(state + 8, y.low);
}

}  // namespace nbdcrypt::modes::generic
