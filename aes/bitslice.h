// SPDX-License-Identifier: Apache-2.0
//
// The AES state of many blocks at once, bit-sliced: the operations of a round on two layouts, in XOR, AND and shifts of
// 64-bit lanes alone, so the same text works on any word size, byte order and vector width.
//
// Rows<T>: one word of T for each row of the state and bit of a byte. A 64-bit lane holds that bit of 16 blocks, the
// bit of column c and block b at 16 * c + b. ShiftRows is a rotation, MixColumns needs none. For batches. Packed: the
// four rows share one 64-bit word per bit: row r, column c, block b at 16 * r + 4 * c + b. Half the work of Rows, for
// up to four blocks. The layout is that of T. Pornin's BearSSL (aes_ct64), as are the shifts of its ShiftRows.
#pragma once

#include <string.h>

#include <bit>

#include "aes/backend.h"
#include "aes/sbox.h"

namespace nbdcrypt::aes {
namespace {

using Word = uint64_t;

// Not those of base/bytes.h: a backend's object has no inline function that others could share.
[[gnu::always_inline]] inline Word little_endian(Word x) noexcept {
  return std::endian::native == std::endian::little ? x : __builtin_bswap64(x);
}

[[gnu::always_inline]] inline Word load_word(const Byte* in) noexcept {
  Word x;
  memcpy(&x, in, sizeof x);
  return little_endian(x);
}

[[gnu::always_inline]] inline void store_word(Byte* out, Word x) noexcept {
  x = little_endian(x);
  memcpy(out, &x, sizeof x);
}

template <class T>
[[gnu::always_inline]] inline T rotr(const T& x, int bits) noexcept {
  return (x >> bits) | (x << (64 - bits));
}

/// Exchanges the bits `mask << shift` of a with the bits `mask` of b, in every lane.
template <class T>
[[gnu::always_inline]] inline void exchange(T& a, T& b, int shift, Word mask) noexcept {
  const T t = ((a >> shift) ^ b) & mask;
  b ^= t;
  a ^= t << shift;
}

/// Transposes 8x8 bits in each byte of w[8 * step]: bit i of w[k] and bit k of w[i]. Its own inverse.
template <class T>
[[gnu::always_inline]] inline void transpose_bits(T* w) noexcept {
  for (int i = 0; i < 8; i += 2) exchange(w[i], w[i + 1], 1, 0x5555555555555555);
  for (int i = 0; i < 8; i++) {
    if (!(i & 2)) exchange(w[i], w[i + 2], 2, 0x3333333333333333);
  }
  for (int i = 0; i < 4; i++) exchange(w[i], w[i + 4], 4, 0x0f0f0f0f0f0f0f0f);
}

/// out = x * a ^ b in GF(2^8), bit by bit; out must not be a.
template <class T>
[[gnu::always_inline]] inline void times_x_plus(const T* a, const T* b, T* out) noexcept {
  out[0] = a[7] ^ b[0];
  out[1] = a[0] ^ a[7] ^ b[1];
  out[2] = a[1] ^ b[2];
  out[3] = a[2] ^ a[7] ^ b[3];
  out[4] = a[3] ^ a[7] ^ b[4];
  for (int i = 5; i < 8; i++) out[i] = a[i - 1] ^ b[i];
}

/// out = x^2 * a, bit by bit.
template <class T>
[[gnu::always_inline]] inline void times_x2(const T* a, T* out) noexcept {
  const T both = a[6] ^ a[7];
  out[0] = a[6];
  out[1] = both;
  out[2] = a[0] ^ a[7];
  out[3] = a[1] ^ a[6];
  out[4] = a[2] ^ both;
  out[5] = a[3] ^ a[7];
  out[6] = a[4];
  out[7] = a[5];
}

template <class T>
struct Rows {
  static constexpr size_t kLanes = sizeof(T) / sizeof(Word);
  static constexpr size_t kBlocks = 16 * kLanes;

  T s[4][8];  // [row][bit]

  /// The first transposition leaves blocks k and k + 8 of a lane in w[k] and w[k + 8]: columns 0 and 2 in its first
  /// word, 1 and 3 in its second; the others separate rows.
  static constexpr int kBlockStep = 16;

  struct Lanes {
    T w[2];
  };

  [[gnu::always_inline]] static Lanes load_block(const Byte* in) noexcept {
    Lanes block;
    for (int half = 0; half < 2; half++) {
      if constexpr (kLanes == 1) {
        block.w[half] = load_word(in + 8 * half);
      } else {
        for (size_t lane = 0; lane < kLanes; lane++) {
          block.w[half][lane] = load_word(in + 16 * kBlockStep * lane + 8 * half);
        }
      }
    }
    return block;
  }

  [[gnu::always_inline]] static void store_block(const Lanes& block, Byte* out) noexcept {
    for (int half = 0; half < 2; half++) {
      if constexpr (kLanes == 1) {
        store_word(out + 8 * half, block.w[half]);
      } else {
        for (size_t lane = 0; lane < kLanes; lane++) {
          store_word(out + 16 * kBlockStep * lane + 8 * half, block.w[half][lane]);
        }
      }
    }
  }

  void load(const Byte* in) noexcept {
    for (int k = 0; k < 8; k++) {
      Lanes a = load_block(in + 16 * k), b = load_block(in + 16 * (k + 8));
      exchange(a.w[0], a.w[1], 32, 0x00000000ffffffff);
      exchange(b.w[0], b.w[1], 32, 0x00000000ffffffff);
      exchange(a.w[0], b.w[0], 8, 0x00ff00ff00ff00ff);
      exchange(a.w[1], b.w[1], 8, 0x00ff00ff00ff00ff);
      exchange(a.w[0], a.w[1], 16, 0x0000ffff0000ffff);
      exchange(b.w[0], b.w[1], 16, 0x0000ffff0000ffff);
      s[0][k] = a.w[0], s[1][k] = b.w[0], s[2][k] = a.w[1], s[3][k] = b.w[1];
    }
    for (auto& row : s) transpose_bits(row);
  }

  void store(Byte* out) noexcept {
    for (auto& row : s) transpose_bits(row);
    for (int k = 0; k < 8; k++) {
      Lanes a{{s[0][k], s[2][k]}}, b{{s[1][k], s[3][k]}};
      exchange(a.w[0], a.w[1], 16, 0x0000ffff0000ffff);
      exchange(b.w[0], b.w[1], 16, 0x0000ffff0000ffff);
      exchange(a.w[0], b.w[0], 8, 0x00ff00ff00ff00ff);
      exchange(a.w[1], b.w[1], 8, 0x00ff00ff00ff00ff);
      exchange(a.w[0], a.w[1], 32, 0x00000000ffffffff);
      exchange(b.w[0], b.w[1], 32, 0x00000000ffffffff);
      store_block(a, out + 16 * k);
      store_block(b, out + 16 * (k + 8));
    }
  }

  /// One round key, the same for all blocks; `constant` is added to each of its bytes.
  void load_key(const Byte* key, Byte constant) noexcept {
    for (int r = 0; r < 4; r++) {
      Word row = 0;
      for (int c = 0; c < 4; c++) row |= Word(key[4 * c + r] ^ constant) << (16 * c);
      for (int bit = 0; bit < 8; bit++) {
        const Word ones = (row >> bit) & 0x0001000100010001;
        s[r][bit] = T{} + ((ones << 16) - ones);
      }
    }
  }

  [[gnu::always_inline]] void add(const Rows& key) noexcept {
    for (int r = 0; r < 4; r++) {
      for (int bit = 0; bit < 8; bit++) s[r][bit] ^= key.s[r][bit];
    }
  }

  template <bool kInverse>
  [[gnu::always_inline]] void substitute_and_shift() noexcept {
    for (int r = 0; r < 4; r++) {
      if constexpr (kInverse) inv_sub_bytes(s[r]);
      if constexpr (!kInverse) sub_bytes(s[r]);
      if (r == 0) continue;
      for (int bit = 0; bit < 8; bit++) s[r][bit] = rotr(s[r][bit], 16 * (kInverse ? 4 - r : r));
    }
  }

  /// b_r = x (a_r ^ a_r+1) ^ a_r+1 ^ a_r+2 ^ a_r+3: MixColumns of FIPS 197, 5.1.3. The round key comes along.
  [[gnu::always_inline]] void mix_columns_add(const Rows& key) noexcept {
    T sum[4][8];
    for (int r = 0; r < 4; r++) {
      for (int bit = 0; bit < 8; bit++) sum[r][bit] = s[r][bit] ^ s[(r + 1) & 3][bit];
    }
    T next[4][8];
    for (int r = 0; r < 4; r++) {
      T rest[8];
      for (int bit = 0; bit < 8; bit++) rest[bit] = s[(r + 1) & 3][bit] ^ sum[(r + 2) & 3][bit] ^ key.s[r][bit];
      times_x_plus(sum[r], rest, next[r]);
    }
    for (int r = 0; r < 4; r++) {
      for (int bit = 0; bit < 8; bit++) s[r][bit] = next[r][bit];
    }
  }

  /// InvMixColumns is MixColumns after the matrix (5 0 4 0).
  [[gnu::always_inline]] void inv_mix_columns_add(const Rows& key) noexcept {
    for (int r = 0; r < 2; r++) {
      T sum[8], by4[8];
      for (int bit = 0; bit < 8; bit++) sum[bit] = s[r][bit] ^ s[r + 2][bit];
      times_x2(sum, by4);
      for (int bit = 0; bit < 8; bit++) s[r][bit] ^= by4[bit], s[r + 2][bit] ^= by4[bit];
    }
    mix_columns_add(key);
  }
};

struct Packed {
  static constexpr size_t kBlocks = 4;

  Word s[8];  // [bit]

  /// x with the bits `mask << shift` and `mask` exchanged.
  [[gnu::always_inline]] static Word exchange_within(Word x, int shift, Word mask) noexcept {
    const Word t = ((x >> shift) ^ x) & mask;
    return x ^ t ^ (t << shift);
  }

  /// Columns 0 and 2 in s[k], 1 and 3 in s[k + 4], row by row; their bytes interleaved.
  void load(const Byte* in) noexcept {
    for (int k = 0; k < 4; k++) {
      s[k] = load_word(in + 16 * k), s[k + 4] = load_word(in + 16 * k + 8);
      exchange(s[k], s[k + 4], 32, 0x00000000ffffffff);
    }
    for (Word& w : s) w = exchange_within(exchange_within(w, 16, 0x00000000ffff0000), 8, 0x0000ff000000ff00);
    transpose_bits(s);
  }

  void store(Byte* out) noexcept {
    transpose_bits(s);
    for (Word& w : s) w = exchange_within(exchange_within(w, 8, 0x0000ff000000ff00), 16, 0x00000000ffff0000);
    for (int k = 0; k < 4; k++) {
      exchange(s[k], s[k + 4], 32, 0x00000000ffffffff);
      store_word(out + 16 * k, s[k]), store_word(out + 16 * k + 8, s[k + 4]);
    }
  }

  /// One round key, the same for all blocks; `constant` is added to each of its bytes.
  void load_key(const Byte* key, Byte constant) noexcept {
    Word even = 0, odd = 0;
    for (int r = 0; r < 4; r++) {
      even |= (Word(key[r] ^ constant) | Word(key[8 + r] ^ constant) << 8) << (16 * r);
      odd |= (Word(key[4 + r] ^ constant) | Word(key[12 + r] ^ constant) << 8) << (16 * r);
    }
    constexpr Word kOnes = 0x0101010101010101;
    for (int bit = 0; bit < 8; bit++) {
      const Word ones = ((even >> bit) & kOnes) | ((odd >> bit) & kOnes) << 4;
      s[bit] = (ones << 4) - ones;
    }
  }

  [[gnu::always_inline]] void add(const Packed& key) noexcept {
    for (int bit = 0; bit < 8; bit++) s[bit] ^= key.s[bit];
  }

  template <bool kInverse>
  [[gnu::always_inline]] void substitute_and_shift() noexcept {
    if constexpr (kInverse) inv_sub_bytes(s);
    if constexpr (!kInverse) sub_bytes(s);
    for (Word& x : s) {
      const Word row0 = x & 0x000000000000ffff, row2 = (x & 0x0000ff0000000000) >> 8 | (x & 0x000000ff00000000) << 8;
      if constexpr (kInverse) {
        x = row0 | row2 | (x & 0x000000000fff0000) << 4 | (x & 0x00000000f0000000) >> 12 |
            (x & 0x000f000000000000) << 12 | (x & 0xfff0000000000000) >> 4;
      } else {
        x = row0 | row2 | (x & 0x00000000fff00000) >> 4 | (x & 0x00000000000f0000) << 12 |
            (x & 0xf000000000000000) >> 12 | (x & 0x0fff000000000000) << 4;
      }
    }
  }

  [[gnu::always_inline]] void mix_columns_add(const Packed& key) noexcept {
    Word sum[8], rest[8];
    for (int bit = 0; bit < 8; bit++) {
      const Word next = rotr(s[bit], 16);
      sum[bit] = s[bit] ^ next;
      rest[bit] = next ^ rotr(sum[bit], 32) ^ key.s[bit];
    }
    times_x_plus(sum, rest, s);
  }

  [[gnu::always_inline]] void inv_mix_columns_add(const Packed& key) noexcept {
    Word sum[8], by4[8];
    for (int bit = 0; bit < 8; bit++) sum[bit] = s[bit] ^ rotr(s[bit], 32);
    times_x2(sum, by4);
    for (int bit = 0; bit < 8; bit++) s[bit] ^= by4[bit];
    mix_columns_add(key);
  }
};

}  // namespace
}  // namespace nbdcrypt::aes
