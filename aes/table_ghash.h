// SPDX-License-Identifier: Apache-2.0
//
// GHASH with tables of 4 bits (V. Shoup, 1996; D. McGrew, J. Viega, "The Galois/Counter Mode of Operation", 4.1): the
// baseline of what does it by multiplication. Like all of the table cipher its addresses depend on secrets. Numbers are
// blocks as they stand, the first byte the highest: the coefficient of x^0 is the highest bit.
#pragma once

#include <string.h>

#include <bit>

#include "aes/backend.h"

namespace nbdcrypt::aes {
namespace {

struct GhashNumber {
  uint64_t high, low;

  friend GhashNumber operator^(GhashNumber a, GhashNumber b) noexcept { return {a.high ^ b.high, a.low ^ b.low}; }
};

/// product[n]: the key times the four coefficients of n.
struct GhashTable {
  GhashNumber product[16];
};
static_assert(sizeof(GhashTable) <= sizeof(HashKey));

/// What the four coefficients beyond x^127 come back as, in the 16 highest bits.
struct GhashCarries {
  uint16_t of[16];
};
consteval GhashCarries make_ghash_carries() {
  GhashCarries carries = {};
  for (unsigned n = 0; n < 16; n++) {
    unsigned value = 0;
    for (unsigned bit = 0; bit < 4; bit++) value = value >> 1 ^ ((n >> bit & 1) ? 0xe100u : 0);
    carries.of[n] = static_cast<uint16_t>(value);
  }
  return carries;
}
constexpr GhashCarries kGhashCarries = make_ghash_carries();

inline GhashNumber load_number(const Byte* p) noexcept {
  GhashNumber x;
  memcpy(&x, p, sizeof x);
  if constexpr (std::endian::native == std::endian::little) {
    x = {__builtin_bswap64(x.high), __builtin_bswap64(x.low)};
  }
  return x;
}

inline void store_number(Byte* p, GhashNumber x) noexcept {
  if constexpr (std::endian::native == std::endian::little) {
    x = {__builtin_bswap64(x.high), __builtin_bswap64(x.low)};
  }
  memcpy(p, &x, sizeof x);
}

inline void prepare_by_table(HashKey& key, const Byte h[16]) noexcept {
  GhashTable table = {};
  GhashNumber x = load_number(h);
  for (unsigned n = 8; n > 0; n >>= 1) {
    table.product[n] = x;
    const uint64_t carry = 0 - (x.low & 1);
    x = {x.high >> 1 ^ (carry & uint64_t{0xe1} << 56), x.low >> 1 | x.high << 63};
  }
  for (unsigned n = 1; n < 16; n++) {
    const unsigned lowest = n & (0 - n);
    if (n != lowest) table.product[n] = table.product[lowest] ^ table.product[n ^ lowest];
  }
  memcpy(key.powers, &table, sizeof table);
}

inline void hash_by_table(const HashKey& key, Byte state[16], const Byte* in, size_t blocks) noexcept {
  GhashTable table;
  memcpy(&table, key.powers, sizeof table);
  GhashNumber y = load_number(state);
  for (; blocks > 0; blocks--, in += kBlockBytes) {
    const GhashNumber x = y ^ load_number(in);
    y = {};
    const auto take_half = [&](uint64_t half) {
      for (int i = 0; i < 16; i++, half >>= 4) {
        const uint64_t carry = uint64_t{kGhashCarries.of[y.low & 15]} << 48;
        y = GhashNumber{y.high >> 4 ^ carry, y.low >> 4 | y.high << 60} ^ table.product[half & 15];
      }
    };
    take_half(x.low);
    take_half(x.high);
  }
  store_number(state, y);
}

inline void ghash_by_table(Byte state[16], const Byte h[16], const Byte* in, size_t blocks) noexcept {
  HashKey key;
  prepare_by_table(key, h);
  hash_by_table(key, state, in, blocks);
}

}  // namespace
}  // namespace nbdcrypt::aes
