// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <immintrin.h>
#include <string.h>

#include "aes/backend.h"

namespace nbdcrypt::aes {
namespace {

[[gnu::always_inline]] inline __m128i load_block(const Byte* p) noexcept {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
}
[[gnu::always_inline]] inline void store_block(Byte* p, __m128i x) noexcept {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), x);
}

/// x times x in GF(2^128) of IEEE 1619-2018, 5.2: the bits carried out of each half come back as 0x87 and as 1.
[[gnu::always_inline]] inline __m128i times_x(__m128i a) noexcept {
  const __m128i carries = _mm_srai_epi32(_mm_shuffle_epi32(a, 0x13), 31);
  return _mm_xor_si128(_mm_add_epi64(a, a), _mm_and_si128(carries, _mm_set_epi32(0, 1, 0, 0x87)));
}

/// V::One of vector_streams.h.
struct XmmBlock {
  __m128i v;

  static XmmBlock load(const Byte* p) noexcept { return {load_block(p)}; }
  void store(Byte* p) const noexcept { store_block(p, v); }
  XmmBlock times_x() const noexcept { return {aes::times_x(v)}; }
};

/// V::TweakChain of vector_streams.h, in 64-bit code.
class GeneralRegisterTweak {
 public:
  explicit GeneralRegisterTweak(const Byte* p) noexcept { load(p); }
  [[gnu::always_inline]] void load(const Byte* p) noexcept { memcpy(&low_, p, 8), memcpy(&high_, p + 8, 8); }
  // Compilers would take both halves through a vector register, and wait for it.
  [[gnu::always_inline]] void store(Byte* p) const noexcept {
    asm volatile("movq %1, %0" : "=m"(*reinterpret_cast<Half*>(p)) : "r"(low_));
    asm volatile("movq %1, %0" : "=m"(*reinterpret_cast<Half*>(p + 8)) : "r"(high_));
  }
  // Compilers make a shift over two registers of it; an addition with carry takes no more than any other. Volatile: it
  // stays in its place between the rounds.
  [[gnu::always_inline]] void times_x() noexcept {
    uint64_t back = high_;
    asm volatile(
        "sarq $63, %[back]\n\t"
        "andl $0x87, %k[back]\n\t"
        "addq %[low], %[low]\n\t"
        "adcq %[high], %[high]\n\t"
        "xorq %[back], %[low]"
        : [low] "+r"(low_), [high] "+r"(high_), [back] "+r"(back)
        :
        : "cc");
  }

 private:
  using Half [[gnu::may_alias, gnu::aligned(1)]] = uint64_t;
  uint64_t low_, high_;
};

}  // namespace
}  // namespace nbdcrypt::aes
