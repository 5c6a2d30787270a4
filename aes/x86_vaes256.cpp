// SPDX-License-Identifier: Apache-2.0
//
// VAES on ymm registers, two blocks each: processors with VAES but without AVX-512, such as Zen 3 and Alder Lake.
#include <immintrin.h>

#include "aes/cpu.h"
#include "aes/x86_kernels.h"

namespace nbdcrypt::aes {

extern constinit const Backend x86_vaes256;

namespace {

struct Ymm {
  using One = XmmBlock;
  using TweakChain = GeneralRegisterTweak;
  static constexpr int kLanes = 2, kChains = 8;
  static constexpr bool kCopiedLanes = true;  // what exchanges lanes takes the place of an AES instruction (Zen 3)

  __m256i v;

  static Ymm load(const Byte* p) noexcept { return {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))}; }
  void store(Byte* p) const noexcept { _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), v); }
  static Ymm broadcast(const Byte* p) noexcept { return {_mm256_broadcastsi128_si256(load_block(p))}; }
  void store_first(Byte* p) const noexcept { store_block(p, _mm256_castsi256_si128(v)); }
  void store_last(Byte* p) const noexcept { store_block(p, _mm256_extracti128_si256(v, 1)); }
  static Ymm gather(const Byte* p) noexcept { return {_mm256_set_m128i(load_block(p + kBlockBytes), load_block(p))}; }
  static Ymm after(Ymm a, Ymm b) noexcept { return {_mm256_permute2x128_si256(a.v, b.v, 0x21)}; }
  static void transpose(Ymm* x) noexcept {
    const __m256i low = _mm256_permute2x128_si256(x[0].v, x[1].v, 0x20);
    x[1].v = _mm256_permute2x128_si256(x[0].v, x[1].v, 0x31);
    x[0].v = low;
  }

  void settle() noexcept { asm volatile("" : "+x"(v)); }
  static Ymm zero() noexcept { return {_mm256_setzero_si256()}; }
  static Ymm from_block(__m128i x) noexcept { return {_mm256_inserti128_si256(_mm256_setzero_si256(), x, 0)}; }
  static Ymm reversed(Ymm x) noexcept {
    return {_mm256_shuffle_epi8(
        x.v, _mm256_broadcastsi128_si256(_mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)))};
  }
  static Ymm halves_swapped(Ymm x) noexcept { return {_mm256_shuffle_epi32(x.v, 0x4e)}; }
  template <int kHalves>
  static Ymm multiply(Ymm a, Ymm b, Index<kHalves>) noexcept {
    return {_mm256_clmulepi64_epi128(a.v, b.v, kHalves)};
  }
  __m128i sum() const noexcept { return _mm_xor_si128(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1)); }

  friend Ymm operator^(Ymm a, Ymm b) noexcept { return {_mm256_xor_si256(a.v, b.v)}; }
  Ymm enc(Ymm key) const noexcept { return {_mm256_aesenc_epi128(v, key.v)}; }
  Ymm enc_last(Ymm key) const noexcept { return {_mm256_aesenclast_epi128(v, key.v)}; }
  Ymm dec(Ymm key) const noexcept { return {_mm256_aesdec_epi128(v, key.v)}; }
  Ymm dec_last(Ymm key) const noexcept { return {_mm256_aesdeclast_epi128(v, key.v)}; }

  /// x^128 is x^7 + x^2 + x + 1 (IEEE 1619-2018, 5.2).
  static __m256i polynomial() noexcept { return _mm256_set1_epi64x(0x87); }

  static Ymm first_tweaks(const Byte* p) noexcept {
    const __m128i tweak = load_block(p);
    return {_mm256_set_m128i(times_x(tweak), tweak)};
  }
  /// times x^(2 * i), i > 0.
  template <int kIndex>
  static Ymm spread_tweak(const Ymm* t, Index<kIndex>) noexcept {
    const __m256i carries = _mm256_srli_epi64(t[0].v, 64 - 2 * kIndex);
    const __m256i shifted = _mm256_or_si256(_mm256_slli_epi64(t[0].v, 2 * kIndex), _mm256_bslli_epi128(carries, 8));
    return {_mm256_xor_si256(shifted, _mm256_clmulepi64_epi128(carries, polynomial(), 0x01))};
  }
  /// times x^16: two bytes.
  static Ymm next_tweak(const Ymm* t, const Ymm*, int i) noexcept {
    const __m256i back = _mm256_clmulepi64_epi128(_mm256_bsrli_epi128(t[i].v, 14), polynomial(), 0x00);
    return {_mm256_xor_si256(_mm256_bslli_epi128(t[i].v, 2), back)};
  }

  static Ymm counters(uint64_t low, uint64_t high, int i) noexcept {
    const __m256i reverse =
        _mm256_broadcastsi128_si256(_mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
    const __m128i one = _mm_set_epi64x(static_cast<long long>(high), static_cast<long long>(low));
    const __m256i all = _mm256_add_epi64(_mm256_broadcastsi128_si256(one), _mm256_set_epi64x(0, 2 * i + 1, 0, 2 * i));
    return {_mm256_shuffle_epi8(all, reverse)};
  }
};

void clear_ymm() noexcept { _mm256_zeroall(); }

}  // namespace

constinit const Backend x86_vaes256{
    .name = "x86-vaes256",
    .needs = cpu::vaes | cpu::vpclmul | cpu::avx2 | cpu::aesni,
    .expand_key = expand_key_x86,
    .encrypt = ecb_blocks<Ymm, Direction::encrypt>,
    .decrypt = ecb_blocks<Ymm, Direction::decrypt>,
    .offload = vector_offload<Ymm>(),
    .ghash = ghash<Ymm>,
    .fused = x86_fused<Ymm>(),
    .stack_bytes = 4096,
    .clear_registers = clear_ymm,
};

}  // namespace nbdcrypt::aes
