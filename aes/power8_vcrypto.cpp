// SPDX-License-Identifier: Apache-2.0
//
// POWER8 and later, in both byte orders: the S-box is computed by vcipher and its kin, so nothing is looked up. Blocks
// lie in the registers as these instructions want them, the first byte leftmost, which the vec_xl_be family provides on
// either. Source: Power ISA 2.07, Book I, 6.11.1 (AES), 6.11.4 (carry-less multiplication).
#include <altivec.h>
#undef vector
#undef bool
#undef pixel

#include <bit>

#include "aes/cpu.h"
#include "aes/key_expansion.h"
#include "aes/vector_ghash.h"
#include "aes/vector_kernels.h"

namespace nbdcrypt::aes {

extern constinit const Backend power8_vcrypto;

namespace {

constexpr bool kLittle = std::endian::native == std::endian::little;

using Bytes16 = __vector unsigned char;
using Halves = __vector unsigned long long;

[[gnu::always_inline]] inline Bytes16 load_block(const Byte* p) noexcept { return vec_xl_be(0, const_cast<Byte*>(p)); }
[[gnu::always_inline]] inline void store_block(Byte* p, Bytes16 x) noexcept { vec_xst_be(x, 0, p); }

/// Elements are counted from the right on little-endian machines.
[[gnu::always_inline]] inline Halves halves(uint64_t left, uint64_t right) noexcept {
  return kLittle ? Halves{right, left} : Halves{left, right};
}

/// x moved to the right by a byte, with the last byte of `in` in front.
[[gnu::always_inline]] inline Bytes16 shift_in(Bytes16 in, Bytes16 x) noexcept { return vec_sld(in, x, 15); }

struct Vr {
  static constexpr int kLanes = 1, kChains = 8;
  static constexpr bool kStraightInverse = true;
  using One = Vr;

  Bytes16 v;

  static Vr load(const Byte* p) noexcept { return {load_block(p)}; }
  void store(Byte* p) const noexcept { store_block(p, v); }
  static Vr broadcast(const Byte* p) noexcept { return load(p); }
  void store_first(Byte* p) const noexcept { store(p); }
  void store_last(Byte* p) const noexcept { store(p); }
  static Vr gather(const Byte* p) noexcept { return load(p); }
  static Vr after(Vr a, Vr) noexcept { return a; }
  static void transpose(Vr*) noexcept {}

  friend Vr operator^(Vr a, Vr b) noexcept { return {a.v ^ b.v}; }
  Vr enc(Vr key) const noexcept { return of(__builtin_crypto_vcipher(Halves(v), Halves(key.v))); }
  Vr enc_last(Vr key) const noexcept { return of(__builtin_crypto_vcipherlast(Halves(v), Halves(key.v))); }
  Vr dec(Vr key) const noexcept { return of(__builtin_crypto_vncipher(Halves(v), Halves(key.v))); }
  Vr dec_last(Vr key) const noexcept { return of(__builtin_crypto_vncipherlast(Halves(v), Halves(key.v))); }

  /// The bit carried out of each byte goes into the next, that of the last comes back as 0x87.
  Vr times_x() const noexcept {
    const Bytes16 carries = vec_sra(v, vec_splats(Byte{7}));
    const Bytes16 back = Bytes16(halves(0x8701010101010101, 0x0101010101010101));
    return {vec_add(v, v) ^ (shift_in(carries, carries) & back)};
  }

  static Vr first_tweaks(const Byte* p) noexcept { return load(p); }
  static Vr spread_tweak(const Vr* t, int i) noexcept { return t[i - 1].times_x(); }
  /// times x^8: a byte. The last one comes back times 0x87, sixteen bits of which the lower come first.
  static Vr next_tweak(const Vr* t, const Vr*, int i) noexcept {
    const Bytes16 zero = {}, x = t[i].v, last = vec_sld(x, zero, 15);
    const auto product = __builtin_crypto_vpmsumb(last, Bytes16(halves(uint64_t{0x87} << 56, 0)));
    const auto swapped = vec_rl((__vector unsigned short)product, vec_splats(static_cast<unsigned short>(8)));
    return {shift_in(zero, x) ^ Bytes16(swapped)};
  }

  static Vr counters(uint64_t low, uint64_t high, int i) noexcept {
    return of(halves(high, low) + halves(0, static_cast<uint64_t>(i)));
  }

 private:
  static Vr of(Halves x) noexcept { return {Bytes16(x)}; }
};

/// vsbox is SubBytes on a register; vncipher of a state that InvSubBytes makes zero is InvMixColumns of its key.
struct VectorInstructions {
  static uint32_t constant(uint32_t byte) noexcept { return kLittle ? byte : byte << 24; }

  static uint32_t rot_word(uint32_t word) noexcept { return kLittle ? std::rotr(word, 8) : std::rotl(word, 8); }

  static uint32_t sub_word(uint32_t word) noexcept {
    const auto words = (__vector unsigned)__builtin_crypto_vsbox(Halves(vec_splats(word)));
    return words[0];
  }

  static void inv_mix_columns(const Byte* in, Byte* out) noexcept {
    Vr{vec_splats(Byte{0x63})}.dec(Vr::load(in)).store(out);
  }
};

void expand_key_vcrypto(Key& key, const Byte* bytes, size_t count) noexcept {
  expand_encryption_key<VectorInstructions>(key, bytes, count);
  derive_decryption_key<VectorInstructions>(key);
}

/// vpmsumd multiplies both pairs of halves and adds the products; a factor with zero in one half picks one.
struct Vpmsumd {
  struct Block {
    Halves v;

    static Block load(const Byte* p) noexcept { return {Halves(load_block(p))}; }
    void store(Byte* p) const noexcept { store_block(p, Bytes16(v)); }
    static Block from(uint64_t high, uint64_t low) noexcept { return {halves(high, low)}; }
    friend Block operator^(Block a, Block b) noexcept { return {a.v ^ b.v}; }
  };

  static Halves swap(Halves x) noexcept { return Halves(vec_sld(Bytes16(x), Bytes16(x), 8)); }
  static Halves multiply(Halves a, Halves b) noexcept { return __builtin_crypto_vpmsumd(a, b); }

  struct Factor {
    Halves high, crossed, low;

    explicit Factor(Block b) noexcept
        : high(b.v & halves(~uint64_t{0}, 0)), crossed(swap(b.v)), low(b.v & halves(0, ~uint64_t{0})) {}
  };

  struct Product {
    Halves high = {}, middle = {}, low = {};
  };

  static void multiply_add(Product& sum, Block a, const Factor& b) noexcept {
    sum.high ^= multiply(a.v, b.high), sum.middle ^= multiply(a.v, b.crossed), sum.low ^= multiply(a.v, b.low);
  }

  /// The 64 coefficients of the highest degrees go first: x^128 is x^7 + x^2 + x + 1, of which the 1 is the swap.
  static Block reduce(const Product& sum) noexcept {
    const Bytes16 zero = {}, middle = Bytes16(sum.middle);
    const Halves high = sum.high ^ Halves(vec_sld(zero, middle, 8)), back = halves(0, kGhashHigh);
    Halves low = sum.low ^ Halves(vec_sld(middle, zero, 8));
    for (int i = 0; i < 2; i++) low = swap(low) ^ multiply(low, back);
    return {high ^ low};
  }
};

// Those that calls do not preserve: vs0-vs13, over which f0-f13 lie, and v0-v19.
void clear_vector_registers() noexcept {
  asm volatile(".irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13\n xxlxor \\i, \\i, \\i\n .endr" ::: "memory");
  asm volatile(
      ".irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19\n vxor \\i, \\i, \\i\n .endr" ::
          : "memory");
}

}  // namespace

constinit const Backend power8_vcrypto{
    .name = "power8-vcrypto",
    .needs = cpu::vcrypto,
    .expand_key = expand_key_vcrypto,
    .encrypt = ecb_blocks<Vr, Direction::encrypt>,
    .decrypt = ecb_blocks<Vr, Direction::decrypt>,
    .offload = vector_offload<Vr>(),
    .ghash = ghash_by<Vpmsumd>,
    .stack_bytes = 4096,
    .clear_registers = clear_vector_registers,
};

}  // namespace nbdcrypt::aes
