// SPDX-License-Identifier: Apache-2.0
//
// The Cryptographic Extension of Armv8-A. AESE adds the round key before it substitutes and leaves MixColumns to AESMC,
// so a round is the end of one in FIPS 197 and the beginning of the next (kKeyFirst in vector_rounds.h).
// Source: Arm ARM (DDI 0487), C7.2, AESE, AESMC, AESD, AESIMC, PMULL.
#include <arm_neon.h>

#include "aes/cpu.h"
#include "aes/key_expansion.h"
#include "aes/vector_ghash.h"
#include "aes/vector_kernels.h"

namespace nbdcrypt::aes {

extern constinit const Backend armv8_ce;

namespace {

struct Q {
  static constexpr int kLanes = 1, kChains = 8;
  static constexpr bool kKeyFirst = true;
  using One = Q;

  uint8x16_t v;

  static Q zero() noexcept { return {vdupq_n_u8(0)}; }
  static Q load(const Byte* p) noexcept { return {vld1q_u8(p)}; }
  void store(Byte* p) const noexcept { vst1q_u8(p, v); }
  static Q broadcast(const Byte* p) noexcept { return load(p); }
  void store_first(Byte* p) const noexcept { store(p); }
  void store_last(Byte* p) const noexcept { store(p); }
  static Q gather(const Byte* p) noexcept { return load(p); }
  static Q after(Q a, Q) noexcept { return a; }
  static void transpose(Q*) noexcept {}

  friend Q operator^(Q a, Q b) noexcept { return {veorq_u8(a.v, b.v)}; }
  Q enc(Q key) const noexcept { return {vaesmcq_u8(vaeseq_u8(v, key.v))}; }
  Q enc_final(Q key) const noexcept { return {vaeseq_u8(v, key.v)}; }
  Q enc_last(Q key) const noexcept { return *this ^ key; }
  Q dec(Q key) const noexcept { return {vaesimcq_u8(vaesdq_u8(v, key.v))}; }
  Q dec_final(Q key) const noexcept { return {vaesdq_u8(v, key.v)}; }
  Q dec_last(Q key) const noexcept { return *this ^ key; }

  /// The bit carried out of each byte goes into the next, that of the last comes back as 0x87.
  Q times_x() const noexcept {
    const uint8x16_t carries = vreinterpretq_u8_s8(vshrq_n_s8(vreinterpretq_s8_u8(v), 7));
    const uint8x16_t back = {0x87, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    return Q{vaddq_u8(v, v)} ^ Q { vandq_u8(vextq_u8(carries, carries, 15), back) };
  }

  static Q first_tweaks(const Byte* p) noexcept { return load(p); }
  static Q spread_tweak(const Q* t, int i) noexcept { return t[i - 1].times_x(); }
  /// times x^8: a byte. The last one comes back times 0x87.
  static Q next_tweak(const Q* t, const Q*, int i) noexcept {
    const poly8x8_t last = vreinterpret_p8_u8(vget_low_u8(vextq_u8(t[i].v, t[i].v, 15)));
    const poly8x8_t polynomial = {0x87, 0, 0, 0, 0, 0, 0, 0};
    return Q{vextq_u8(vdupq_n_u8(0), t[i].v, 15)} ^ Q { vreinterpretq_u8_p16(vmull_p8(last, polynomial)) };
  }

  static Q counters(uint64_t low, uint64_t high, int i) noexcept {
    const uint64x2_t first = {high, low}, step = {0, static_cast<uint64_t>(i)};
    return {vrev64q_u8(vreinterpretq_u8_u64(vaddq_u64(first, step)))};
  }
};

/// AESE with a zero key is SubBytes and ShiftRows; with the same word in all four columns ShiftRows changes nothing.
struct CryptoInstructions {
  static uint32_t constant(uint32_t byte) noexcept { return byte; }

  static uint32_t rot_word(uint32_t word) noexcept { return word >> 8 | word << 24; }

  static uint32_t sub_word(uint32_t word) noexcept {
    const uint8x16_t columns = vreinterpretq_u8_u32(vdupq_n_u32(word));
    return vgetq_lane_u32(vreinterpretq_u32_u8(vaeseq_u8(columns, vdupq_n_u8(0))), 0);
  }

  static void inv_mix_columns(const Byte* in, Byte* out) noexcept { vst1q_u8(out, vaesimcq_u8(vld1q_u8(in))); }
};

void expand_key_armv8(Key& key, const Byte* bytes, size_t count) noexcept {
  expand_encryption_key<CryptoInstructions>(key, bytes, count);
  derive_decryption_key<CryptoInstructions>(key);
}

struct Pmull {
  /// Lane 0 is the lower half.
  struct Block {
    uint64x2_t v;

    static Block load(const Byte* p) noexcept { return {reversed(vld1q_u8(p))}; }
    void store(Byte* p) const noexcept { vst1q_u8(p, vreinterpretq_u8_u64(reversed(vreinterpretq_u8_u64(v)))); }
    static Block from(uint64_t high, uint64_t low) noexcept { return {uint64x2_t{low, high}}; }
    friend Block operator^(Block a, Block b) noexcept { return {veorq_u64(a.v, b.v)}; }

   private:
    static uint64x2_t reversed(uint8x16_t x) noexcept { return swap(vreinterpretq_u64_u8(vrev64q_u8(x))); }
  };

  static uint64x2_t swap(uint64x2_t x) noexcept { return vextq_u64(x, x, 1); }
  static uint64x2_t low_halves(uint64x2_t a, uint64x2_t b) noexcept {
    return vreinterpretq_u64_p128(vmull_p64(vgetq_lane_u64(a, 0), vgetq_lane_u64(b, 0)));
  }
  static uint64x2_t high_halves(uint64x2_t a, uint64x2_t b) noexcept {
    return vreinterpretq_u64_p128(vmull_high_p64(vreinterpretq_p64_u64(a), vreinterpretq_p64_u64(b)));
  }

  struct Factor {
    uint64x2_t straight, crossed;

    explicit Factor(Block b) noexcept : straight(b.v), crossed(swap(b.v)) {}
  };

  struct Product {
    uint64x2_t high = {}, middle = {}, low = {};
  };

  static void multiply_add(Product& sum, Block a, const Factor& b) noexcept {
    sum.high ^= high_halves(a.v, b.straight);
    sum.middle ^= low_halves(a.v, b.crossed) ^ high_halves(a.v, b.crossed);
    sum.low ^= low_halves(a.v, b.straight);
  }

  /// The 64 coefficients of the highest degrees go first: x^128 is x^7 + x^2 + x + 1, of which the 1 is the swap.
  static Block reduce(const Product& sum) noexcept {
    const uint64x2_t zero = {}, back = {kGhashHigh, 0};
    const uint64x2_t high = sum.high ^ vextq_u64(sum.middle, zero, 1);
    uint64x2_t low = sum.low ^ vextq_u64(zero, sum.middle, 1);
    for (int i = 0; i < 2; i++) low = swap(low) ^ low_halves(low, back);
    return {high ^ low};
  }
};

// Those that calls do not preserve. Of v8 to v15 calls preserve the lower halves, so the kernels save those and we
// clear what is above.
void clear_vector_registers() noexcept {
  asm volatile(
      ".irp i, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31\n"
      "movi v\\i\\().2d, #0\n"
      ".endr\n"
      ".irp i, 8, 9, 10, 11, 12, 13, 14, 15\n"
      "mov v\\i\\().d[1], xzr\n"
      ".endr" ::
          : "memory");
}

}  // namespace

constinit const Backend armv8_ce{
    .name = "armv8-ce",
    .needs = cpu::armaes | cpu::pmull,
    .expand_key = expand_key_armv8,
    .encrypt = ecb_blocks<Q, Direction::encrypt>,
    .decrypt = ecb_blocks<Q, Direction::decrypt>,
    .offload = vector_offload<Q>(),
    .ghash = ghash_by<Pmull>,
    .stack_bytes = 4096,
    .clear_registers = clear_vector_registers,
};

}  // namespace nbdcrypt::aes
