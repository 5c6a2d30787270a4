// SPDX-License-Identifier: Apache-2.0
//
// The field of FIPS 197, 4, and the S-box, for tables that are made at compile time. Nothing here runs: consteval.
#pragma once

#include "aes/backend.h"

namespace nbdcrypt::aes::gf256 {

/// A function on bytes, written out.
struct Map {
  Byte of[256];
};

consteval unsigned multiply(unsigned a, unsigned b) {
  unsigned product = 0;
  for (; b != 0; b >>= 1) {
    if (b & 1) product ^= a;
    a = a << 1 ^ (a & 0x80 ? 0x11b : 0);
  }
  return product;
}

/// 1 / a; 0 for 0.
consteval unsigned invert(unsigned a) {
  unsigned power = 1;
  for (int i = 0; i < 254; i++) power = multiply(power, a);
  return power;
}

/// The matrix of the S-box (FIPS 197, 5.1.1), without the constant 0x63.
consteval unsigned affine(unsigned a) {
  unsigned sum = 0;
  for (int turn = 0; turn < 5; turn++) sum ^= a << turn | a >> (8 - turn);
  return sum & 0xff;
}

consteval Map inverse_of(const Map& map) {
  Map inverse = {};
  for (unsigned i = 0; i < 256; i++) inverse.of[map.of[i]] = static_cast<Byte>(i);
  return inverse;
}

consteval Map sbox() {
  Map map = {};
  for (unsigned i = 0; i < 256; i++) map.of[i] = static_cast<Byte>(affine(invert(i)) ^ 0x63);
  return map;
}

}  // namespace nbdcrypt::aes::gf256
