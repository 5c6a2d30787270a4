// SPDX-License-Identifier: Apache-2.0
//
// SubBytes, ShiftRows and MixColumns of a byte as one word out of a table: a round is sixteen lookups.
// Source: J. Daemen, V. Rijmen, "AES Proposal: Rijndael", 5.2.1.
#pragma once

#include <bit>

#include "aes/gf256.h"

namespace nbdcrypt::aes {
namespace {

/// Where in a word, as it is loaded from memory, byte `i` of a column lies.
constexpr unsigned shift_of(unsigned i) noexcept {
  return std::endian::native == std::endian::little ? 8 * i : 24 - 8 * i;
}

/// round[i][x]: what byte x in row i adds to its column. last: the S-box alone, for the round without MixColumns.
struct Tables {
  uint32_t round[4][256];
  Byte last[256];
};

/// `factors`: the first column of the matrix of MixColumns or InvMixColumns.
consteval Tables make_tables(const gf256::Map& sbox, const unsigned (&factors)[4]) {
  Tables tables = {};
  for (unsigned x = 0; x < 256; x++) {
    tables.last[x] = sbox.of[x];
    for (unsigned row = 0; row < 4; row++) {
      for (unsigned i = 0; i < 4; i++) {
        tables.round[row][x] |= gf256::multiply(sbox.of[x], factors[(i + 4 - row) % 4]) << shift_of(i);
      }
    }
  }
  return tables;
}

alignas(64) constexpr Tables kForward = make_tables(gf256::sbox(), {2, 1, 1, 3});
alignas(64) constexpr Tables kInverseTables = make_tables(gf256::inverse_of(gf256::sbox()), {14, 9, 13, 11});

}  // namespace
}  // namespace nbdcrypt::aes
