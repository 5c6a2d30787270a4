// SPDX-License-Identifier: Apache-2.0
#include "tests/emulation/padlock/byte_aes.h"

#include <cstring>
#include <utility>

namespace nbdcrypt::test::padlock {
namespace {

using Byte = std::uint8_t;

struct Tables {
  Byte sbox[256], inverse[256];
  Byte times[16][256];  // only the factors of MixColumns and its inverse

  Tables() noexcept {
    for (unsigned factor : {1u, 2u, 3u, 9u, 11u, 13u, 14u}) {
      for (unsigned x = 0; x < 256; ++x) times[factor][x] = product(factor, x);
    }
    // The powers of 3 are all bytes but 0; their inverses are the powers of 1/3 = 0xf6.
    unsigned power = 1, inverse_power = 1;
    do {
      power = product(3, power), inverse_power = product(0xf6, inverse_power);
      set_sbox(power, inverse_power);
    } while (power != 1);
    set_sbox(0, 0);
  }

  static Byte product(unsigned a, unsigned b) noexcept {
    unsigned sum = 0;
    for (unsigned bit = 8; bit-- > 0;) {
      sum = (sum << 1) ^ ((sum & 0x80) ? 0x11b : 0);
      if (b >> bit & 1) sum ^= a;
    }
    return static_cast<Byte>(sum);
  }

  void set_sbox(unsigned x, unsigned inverse_of_x) noexcept {
    unsigned value = 0;
    for (unsigned bit = 0; bit < 8; ++bit) {
      unsigned sum = 0x63u >> bit;
      for (unsigned other : {0u, 4u, 5u, 6u, 7u}) sum ^= inverse_of_x >> ((bit + other) % 8);
      value |= (sum & 1) << bit;
    }
    sbox[x] = static_cast<Byte>(value), inverse[value] = static_cast<Byte>(x);
  }
};

const Tables tables;

void mix_columns(Byte* s, const unsigned (&row)[4]) {
  for (Byte* column = s; column < s + 16; column += 4) {
    Byte mixed[4];
    for (unsigned i = 0; i < 4; ++i) {
      mixed[i] = 0;
      for (unsigned j = 0; j < 4; ++j)
        mixed[i] = static_cast<Byte>(mixed[i] ^ tables.times[row[(j + 4 - i) % 4]][column[j]]);
    }
    std::memcpy(column, mixed, sizeof mixed);
  }
}

constexpr unsigned kForward[4] = {2, 3, 1, 1}, kInverse[4] = {14, 11, 13, 9};

void add(Byte* s, const Byte* key) {
  for (unsigned i = 0; i < 16; ++i) s[i] = static_cast<Byte>(s[i] ^ key[i]);
}

/// `turn`: how far row 1 moves.
void crypt(const Byte (*schedule)[16], unsigned rounds, const Byte* in, Byte* out, const Byte* sbox, unsigned turn,
           const unsigned (&row)[4]) {
  Byte s[16], moved[16];
  std::memcpy(s, in, sizeof s);
  add(s, schedule[0]);
  for (unsigned round = 1; round <= rounds; ++round) {
    for (unsigned i = 0; i < 16; ++i) moved[i] = sbox[s[(i + 4 * turn * (i % 4)) % 16]];
    if (round < rounds) mix_columns(moved, row);
    add(moved, schedule[round]);
    std::memcpy(s, moved, sizeof s);
  }
  std::memcpy(out, s, sizeof s);
}

}  // namespace

void ByteAes::expand128(const Byte* key, Byte (*schedule)[16]) {
  std::memcpy(schedule[0], key, 16);
  Byte constant = 1;
  for (unsigned round = 1; round <= 10; ++round) {
    const Byte *const before = schedule[round - 1], *const last = before + 12;
    Byte* const now = schedule[round];
    for (unsigned i = 0; i < 4; ++i) now[i] = static_cast<Byte>(before[i] ^ tables.sbox[last[(i + 1) % 4]]);
    now[0] = static_cast<Byte>(now[0] ^ constant);
    for (unsigned i = 4; i < 16; ++i) now[i] = static_cast<Byte>(before[i] ^ now[i - 4]);
    constant = tables.times[2][constant];
  }
}

void ByteAes::invert(Byte (*schedule)[16], unsigned rounds) {
  for (unsigned first = 0, last = rounds; first < last; ++first, --last) std::swap(schedule[first], schedule[last]);
  for (unsigned round = 1; round < rounds; ++round) mix_columns(schedule[round], kInverse);
}

void ByteAes::encrypt(const Byte (*schedule)[16], unsigned rounds, const Byte* in, Byte* out) {
  crypt(schedule, rounds, in, out, tables.sbox, 1, kForward);
}

void ByteAes::decrypt(const Byte (*schedule)[16], unsigned rounds, const Byte* in, Byte* out) {
  crypt(schedule, rounds, in, out, tables.inverse, 3, kInverse);
}

}  // namespace nbdcrypt::test::padlock
