// SPDX-License-Identifier: Apache-2.0
//
// The key expansion of FIPS 197, 5.2 and 5.3.5, written once; how SubWord and InvMixColumns are computed is a
// parameter, so that AES instructions and plain arithmetic share the text. Works in place in the caller's Key, with no
// buffer of its own to wipe. Everything is in an anonymous namespace, as backends compile it with their own target
// flags.
#pragma once

#include <string.h>

#include "aes/backend.h"

namespace nbdcrypt::aes {
namespace {

/// Multiplies the four bytes of a word by x in GF(2^8), FIPS 197, 4.2.1, without a branch.
inline uint32_t xtimes(uint32_t word) noexcept {
  const uint32_t high = word & 0x80808080;
  return ((word ^ high) << 1) ^ ((high >> 7) * 0x1b);
}

/// Fills enc and rounds from `bytes`[count]; count is 16, 24 or 32. Words are used as they lie in memory, so Methods
/// must not depend on their byte order: `sub_word` maps each byte, `rot_word` moves byte 1 to the place of byte 0,
/// `constant` puts a byte in the place of byte 0.
template <class Methods>
inline void expand_encryption_key(Key& key, const Byte* bytes, size_t count) noexcept {
  const uint32_t nk = static_cast<uint32_t>(count / 4);
  key.rounds = nk + 6;
  const auto load = [&](size_t i) {
    uint32_t word;
    memcpy(&word, key.enc + 4 * i, 4);
    return word;
  };
  memcpy(key.enc, bytes, count);
  uint32_t round_constant = 1, previous = load(nk - 1);
  for (uint32_t i = nk, of = 0; i < 4 * (key.rounds + 1); i++, of = of + 1 == nk ? 0 : of + 1) {
    if (of == 0) {
      previous = Methods::sub_word(Methods::rot_word(previous)) ^ Methods::constant(round_constant);
      round_constant = xtimes(round_constant);
    } else if (of == 4 && nk == 8) {
      previous = Methods::sub_word(previous);
    }
    previous ^= load(i - nk);
    memcpy(key.enc + 4 * i, &previous, 4);
  }
}

/// Fills dec from enc and rounds.
template <class Methods>
inline void derive_decryption_key(Key& key) noexcept {
  const size_t last = kBlockBytes * key.rounds;
  memcpy(key.dec, key.enc + last, kBlockBytes);
  memcpy(key.dec + last, key.enc, kBlockBytes);
  for (size_t at = kBlockBytes; at < last; at += kBlockBytes) {
    Methods::inv_mix_columns(key.enc + last - at, key.dec + at);
  }
}

}  // namespace
}  // namespace nbdcrypt::aes
