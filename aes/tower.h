// SPDX-License-Identifier: Apache-2.0
//
// The S-box without a table of 256 bytes, for processors that look up sixteen bytes at once in a register: inversion in
// GF(2^8) by functions of four bits. Source of the idea: M. Hamburg, "Accelerating AES with Vector Permute
// Instructions", CHES 2009. Everything here is derived at compile time from the definition of the fields; nothing runs.
//
// GF(2^8) is a plane over GF(2^4): a byte is k + i t, with k and i in the subfield and t^2 + a t + a = 0. Kept as two
// nibbles (i high, k low), with j = i + k and the norm N = k^2 + a i k + a i^2, one finds
//   io = 1 / (1 / i + a / k) + j = N / (k + a i)      jo = 1 / (1 / j + a / k) + i = N / (k + a i + a k)
// and the inverse (k + a i + i t) / N is linear in 1 / io and 1 / jo over the subfield. So five lookups give io and jo,
// and two more any linear function of the inverse: a table of io, plus a table of jo. 1 / 0 is `kInfinity`, whose high
// bit survives additions, and which lookups of a byte permute take as "give 0": 1 / infinity = 0.
#pragma once

#include "aes/gf256.h"

namespace nbdcrypt::aes::tower {

/// What a nibble becomes.
struct alignas(16) Nibble {
  Byte of[16];
};

/// A linear function of a byte, by its nibbles: low[x & 15] ^ high[x >> 4].
struct Linear {
  Nibble low, high;
};

/// A linear function of the inverse of a byte, by io and jo.
struct Output {
  Nibble io, jo;
};

inline constexpr Byte kInfinity = 0x80;

/// The fields: subfield[n] is the byte that nibble n stands for, `a` a nibble, t a byte.
struct Fields {
  Byte subfield[16];
  unsigned a, t;
  gf256::Map to_byte, to_nibbles;  // nibbles (i << 4 | k) to k + i t, and back
};

consteval unsigned power(unsigned base, unsigned exponent) {
  unsigned result = 1;
  for (unsigned i = 0; i < exponent; i++) result = gf256::multiply(result, base);
  return result;
}

consteval Fields make_fields() {
  Fields fields = {};
  unsigned root = 2;  // of z^4 + z + 1
  while ((power(root, 4) ^ root ^ 1) != 0) root++;
  for (unsigned n = 0; n < 16; n++) {
    for (unsigned bit = 0; bit < 4; bit++) {
      if (n >> bit & 1) fields.subfield[n] = static_cast<Byte>(fields.subfield[n] ^ power(root, bit));
    }
  }
  // The conjugate of t is t^16; its sum with t and its product with t are to be the same.
  fields.t = 2;
  while (power(fields.t, 16) == fields.t || (power(fields.t, 16) ^ fields.t) != power(fields.t, 17)) fields.t++;
  while (fields.subfield[fields.a] != power(fields.t, 17)) fields.a++;
  for (unsigned n = 0; n < 256; n++) {
    const unsigned high = gf256::multiply(fields.t, fields.subfield[n >> 4]);
    fields.to_byte.of[n] = static_cast<Byte>(fields.subfield[n & 15] ^ high);
  }
  fields.to_nibbles = gf256::inverse_of(fields.to_byte);
  return fields;
}

inline constexpr Fields kFields = make_fields();

/// factor / n, as a nibble.
consteval Nibble quotient(unsigned factor) {
  Nibble table = {};
  for (unsigned n = 0; n < 16; n++) {
    const unsigned quotient = gf256::multiply(kFields.subfield[factor], gf256::invert(kFields.subfield[n]));
    table.of[n] = n == 0 ? kInfinity : kFields.to_nibbles.of[quotient];
  }
  return table;
}

inline constexpr Nibble kInverse = quotient(1);        // 1 / n
inline constexpr Nibble kAOver = quotient(kFields.a);  // a / n

consteval gf256::Map compose(const gf256::Map& outer, const gf256::Map& inner) {
  gf256::Map map = {};
  for (unsigned i = 0; i < 256; i++) map.of[i] = outer.of[inner.of[i]];
  return map;
}

consteval gf256::Map multiply_by(unsigned factor) {
  gf256::Map map = {};
  for (unsigned i = 0; i < 256; i++) map.of[i] = static_cast<Byte>(gf256::multiply(factor, i));
  return map;
}

/// The matrix of the S-box.
consteval gf256::Map affine_map() {
  gf256::Map map = {};
  for (unsigned i = 0; i < 256; i++) map.of[i] = static_cast<Byte>(gf256::affine(i));
  return map;
}

/// A linear map as lookups of its argument's nibbles.
consteval Linear lookups(const gf256::Map& map) {
  Linear linear = {};
  for (unsigned n = 0; n < 16; n++) linear.low.of[n] = map.of[n], linear.high.of[n] = map.of[n << 4];
  return linear;
}

/// A linear map of the inverse as lookups of io and jo. With u = 1 / io and v = 1 / jo, v - u is a k / N, and
/// u is k / N + a i / N; so k + a i is u, and i is (u + (u + v) / a) / a, all over N.
consteval Output lookups_of_inverse(const gf256::Map& map) {
  Output output = {};
  const unsigned by_a = gf256::invert(kFields.subfield[kFields.a]), by_a2 = gf256::multiply(by_a, by_a);
  for (unsigned n = 1; n < 16; n++) {
    const unsigned inverse = gf256::invert(kFields.subfield[n]);
    const unsigned of_u = 1 ^ gf256::multiply(kFields.t, by_a ^ by_a2), of_v = gf256::multiply(kFields.t, by_a2);
    output.io.of[n] = map.of[gf256::multiply(of_u, inverse)];
    output.jo.of[n] = map.of[gf256::multiply(of_v, inverse)];
  }
  return output;
}

}  // namespace nbdcrypt::aes::tower
