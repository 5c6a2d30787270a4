// SPDX-License-Identifier: Apache-2.0
//
// AES-NI on xmm registers, in the encoding of SSE, so that processors without AVX run it too.
#include <immintrin.h>

#include "aes/cpu.h"
#include "aes/x86_clear.h"
#include "aes/x86_kernels.h"

namespace nbdcrypt::aes {

extern constinit const Backend x86_aesni;

namespace {

struct Xmm {
  using One = XmmBlock;
  using TweakChain = GeneralRegisterTweak;
  static constexpr int kLanes = 1, kChains = 8;

  __m128i v;

  static Xmm load(const Byte* p) noexcept { return {load_block(p)}; }
  void store(Byte* p) const noexcept { store_block(p, v); }
  static Xmm broadcast(const Byte* p) noexcept { return load(p); }
  void store_first(Byte* p) const noexcept { store(p); }
  void store_last(Byte* p) const noexcept { store(p); }
  static Xmm gather(const Byte* p) noexcept { return load(p); }
  static Xmm after(Xmm a, Xmm) noexcept { return a; }
  static void transpose(Xmm*) noexcept {}

  static Xmm zero() noexcept { return {_mm_setzero_si128()}; }
  static Xmm from_block(__m128i x) noexcept { return {x}; }
  static Xmm reversed(Xmm x) noexcept { return {byte_reversed(x.v)}; }
  template <int kHalves>
  static Xmm multiply(Xmm a, Xmm b, Index<kHalves>) noexcept {
    return {_mm_clmulepi64_si128(a.v, b.v, kHalves)};
  }
  __m128i sum() const noexcept { return v; }

  friend Xmm operator^(Xmm a, Xmm b) noexcept { return {_mm_xor_si128(a.v, b.v)}; }
  Xmm enc(Xmm key) const noexcept { return {_mm_aesenc_si128(v, key.v)}; }
  Xmm enc_last(Xmm key) const noexcept { return {_mm_aesenclast_si128(v, key.v)}; }
  Xmm dec(Xmm key) const noexcept { return {_mm_aesdec_si128(v, key.v)}; }
  Xmm dec_last(Xmm key) const noexcept { return {_mm_aesdeclast_si128(v, key.v)}; }

  static Xmm first_tweaks(const Byte* p) noexcept { return load(p); }
  static Xmm spread_tweak(const Xmm* t, int i) noexcept { return {times_x(t[i - 1].v)}; }
  static Xmm next_tweak(const Xmm* t, const Xmm* next, int i) noexcept {
    return {times_x(i > 0 ? next[i - 1].v : t[kInFlight - 1].v)};
  }

  static Xmm counters(uint64_t low, uint64_t high, int i) noexcept {
    const __m128i reverse = _mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m128i first = _mm_set_epi64x(static_cast<long long>(high), static_cast<long long>(low));
    return {_mm_shuffle_epi8(_mm_add_epi64(first, _mm_set_epi64x(0, i)), reverse)};
  }
};

}  // namespace

constinit const Backend x86_aesni{
    .name = "x86-aesni",
    .needs = cpu::aesni | cpu::pclmul | cpu::sse41,
    .expand_key = expand_key_x86,
    .encrypt = ecb_blocks<Xmm, Direction::encrypt>,
    .decrypt = ecb_blocks<Xmm, Direction::decrypt>,
    .offload = vector_offload<Xmm>(),
    .ghash = ghash<Xmm>,
    .fused = x86_fused<Xmm>(),
    .stack_bytes = 4096,
    .clear_registers = clear_xmm,
};

}  // namespace nbdcrypt::aes
