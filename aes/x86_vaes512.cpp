// SPDX-License-Identifier: Apache-2.0
//
// VAES on zmm registers, four blocks each.
#include <immintrin.h>

#include "aes/cpu.h"
#include "aes/x86_kernels.h"

namespace nbdcrypt::aes {

extern constinit const Backend x86_vaes512;

namespace {

struct Zmm {
  using One = XmmBlock;
  static constexpr int kLanes = 4, kChains = 4;  // sixteen chains: more would share cache sets

  __m512i v;

  static Zmm load(const Byte* p) noexcept { return {_mm512_loadu_si512(p)}; }
  void store(Byte* p) const noexcept { _mm512_storeu_si512(p, v); }
  static Zmm broadcast(const Byte* p) noexcept { return {_mm512_broadcast_i32x4(load_block(p))}; }
  void store_first(Byte* p) const noexcept { store_block(p, _mm512_castsi512_si128(v)); }
  void store_last(Byte* p) const noexcept { store_block(p, _mm512_extracti32x4_epi32(v, 3)); }
  static Zmm gather(const Byte* p) noexcept {
    const __m512i one = _mm512_inserti32x4(_mm512_castsi128_si512(load_block(p)), load_block(p + 16), 1);
    return {_mm512_inserti32x4(_mm512_inserti32x4(one, load_block(p + 32), 2), load_block(p + 48), 3)};
  }
  static Zmm after(Zmm a, Zmm b) noexcept { return {_mm512_alignr_epi64(b.v, a.v, 6)}; }
  static void transpose(Zmm* x) noexcept {
    const __m512i a = _mm512_shuffle_i32x4(x[0].v, x[1].v, 0x44), b = _mm512_shuffle_i32x4(x[0].v, x[1].v, 0xee);
    const __m512i c = _mm512_shuffle_i32x4(x[2].v, x[3].v, 0x44), d = _mm512_shuffle_i32x4(x[2].v, x[3].v, 0xee);
    x[0].v = _mm512_shuffle_i32x4(a, c, 0x88), x[1].v = _mm512_shuffle_i32x4(a, c, 0xdd);
    x[2].v = _mm512_shuffle_i32x4(b, d, 0x88), x[3].v = _mm512_shuffle_i32x4(b, d, 0xdd);
  }

  static Zmm zero() noexcept { return {_mm512_setzero_si512()}; }
  static Zmm from_block(__m128i x) noexcept { return {_mm512_inserti32x4(_mm512_setzero_si512(), x, 0)}; }
  static Zmm reversed(Zmm x) noexcept {
    return {_mm512_shuffle_epi8(
        x.v, _mm512_broadcast_i32x4(_mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)))};
  }
  template <int kHalves>
  static Zmm multiply(Zmm a, Zmm b, Index<kHalves>) noexcept {
    return {_mm512_clmulepi64_epi128(a.v, b.v, kHalves)};
  }
  __m128i sum() const noexcept {
    const __m128i low = _mm_xor_si128(_mm512_castsi512_si128(v), _mm512_extracti32x4_epi32(v, 1));
    return _mm_xor_si128(low, _mm_xor_si128(_mm512_extracti32x4_epi32(v, 2), _mm512_extracti32x4_epi32(v, 3)));
  }

  friend Zmm operator^(Zmm a, Zmm b) noexcept { return {_mm512_xor_si512(a.v, b.v)}; }
  Zmm enc(Zmm key) const noexcept { return {_mm512_aesenc_epi128(v, key.v)}; }
  Zmm enc_last(Zmm key) const noexcept { return {_mm512_aesenclast_epi128(v, key.v)}; }
  Zmm dec(Zmm key) const noexcept { return {_mm512_aesdec_epi128(v, key.v)}; }
  Zmm dec_last(Zmm key) const noexcept { return {_mm512_aesdeclast_epi128(v, key.v)}; }

  /// shifted ^ carries << 64 ^ (the upper half of `carries`) * (x^7 + x^2 + x + 1), in every lane.
  static __m512i reduce(__m512i shifted, __m512i carries) noexcept {
    const __m512i back = _mm512_clmulepi64_epi128(carries, _mm512_set1_epi64(0x87), 0x01);
    return _mm512_ternarylogic_epi64(shifted, _mm512_bslli_epi128(carries, 8), back, 0x96);
  }

  static Zmm first_tweaks(const Byte* p) noexcept {
    const __m512i left = _mm512_set_epi64(3, 3, 2, 2, 1, 1, 0, 0);
    const __m512i all = _mm512_broadcast_i32x4(load_block(p));
    return {
        reduce(_mm512_sllv_epi64(all, left), _mm512_srlv_epi64(all, _mm512_sub_epi64(_mm512_set1_epi64(64), left)))};
  }
  /// times x^(4 * i), i > 0.
  template <int kIndex>
  static Zmm spread_tweak(const Zmm* t, Index<kIndex>) noexcept {
    return {reduce(_mm512_slli_epi64(t[0].v, 4 * kIndex), _mm512_srli_epi64(t[0].v, 64 - 4 * kIndex))};
  }
  /// times x^32: four bytes.
  static Zmm next_tweak(const Zmm* t, const Zmm*, int i) noexcept {
    const __m512i back = _mm512_clmulepi64_epi128(_mm512_bsrli_epi128(t[i].v, 12), _mm512_set1_epi64(0x87), 0x00);
    return {_mm512_xor_si512(_mm512_bslli_epi128(t[i].v, 4), back)};
  }

  static Zmm counters(uint64_t low, uint64_t high, int i) noexcept {
    const __m512i reverse = _mm512_broadcast_i32x4(_mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
    const __m128i one = _mm_set_epi64x(static_cast<long long>(high), static_cast<long long>(low));
    const __m512i steps = _mm512_set_epi64(0, 4 * i + 3, 0, 4 * i + 2, 0, 4 * i + 1, 0, 4 * i);
    return {_mm512_shuffle_epi8(_mm512_add_epi64(_mm512_broadcast_i32x4(one), steps), reverse)};
  }
};

// VZEROALL does not know the sixteen registers of 64-bit mode that came with AVX-512.
void clear_zmm() noexcept {
  asm volatile("vzeroall" ::: "memory");
  if constexpr (sizeof(void*) == 8) {
    asm volatile(
        ".irp i, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31\n"
        "vpxorq %%zmm\\i, %%zmm\\i, %%zmm\\i\n"
        ".endr" ::
            : "memory");
  }
}

}  // namespace

constinit const Backend x86_vaes512{
    .name = "x86-vaes512",
    .needs = cpu::vaes | cpu::vpclmul | cpu::avx512 | cpu::aesni,
    .expand_key = expand_key_x86,
    .encrypt = ecb_blocks<Zmm, Direction::encrypt>,
    .decrypt = ecb_blocks<Zmm, Direction::decrypt>,
    .offload = vector_offload<Zmm>(),
    .ghash = ghash<Zmm>,
    .fused = x86_fused<Zmm>(),
    .stack_bytes = 4096,
    .clear_registers = clear_zmm,
};

}  // namespace nbdcrypt::aes
