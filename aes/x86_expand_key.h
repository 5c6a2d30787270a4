// SPDX-License-Identifier: Apache-2.0
//
// The key expansion with AES instructions. AESENCLAST with a zero round key is SubBytes and ShiftRows; with the same
// word in all four columns ShiftRows changes nothing, so it is SubWord, without the immediate operand of
// AESKEYGENASSIST.
#pragma once

#include <immintrin.h>

#include "aes/key_expansion.h"

namespace nbdcrypt::aes {
namespace {

struct AesInstructions {
  static uint32_t constant(uint32_t byte) noexcept { return byte; }

  static uint32_t rot_word(uint32_t word) noexcept { return word >> 8 | word << 24; }

  static uint32_t sub_word(uint32_t word) noexcept {
    const __m128i columns = _mm_set1_epi32(static_cast<int>(word));
    return static_cast<uint32_t>(_mm_cvtsi128_si32(_mm_aesenclast_si128(columns, _mm_setzero_si128())));
  }

  static void inv_mix_columns(const Byte* in, Byte* out) noexcept {
    const __m128i key = _mm_loadu_si128(reinterpret_cast<const __m128i*>(in));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out), _mm_aesimc_si128(key));
  }
};

void expand_key_x86(Key& key, const Byte* bytes, size_t count) noexcept {
  expand_encryption_key<AesInstructions>(key, bytes, count);
  derive_decryption_key<AesInstructions>(key);
}

}  // namespace
}  // namespace nbdcrypt::aes
