// SPDX-License-Identifier: Apache-2.0
//
// GHASH by carry-less multiplication, alone and in the shadow of the rounds of GCM's counter mode.
//
// GHASH (SP 800-38D, 6.4) reads a block as a polynomial whose x^0 is the highest bit of the first byte. A block is
// loaded as one 128-bit number, first byte highest, so all bits are in reverse; the product of two reversed numbers is
// the reversed product, one place too low. The keys are therefore kept as H^n * x^-1 in that form, and no product needs
// a shift (S. Gueron, M. Kounavis, "Intel Carry-Less Multiplication Instruction and its Usage for Computing the GCM
// Mode", 2010). A group of G blocks is multiplied by H^G ... H^1, summed and reduced once; a shorter one by the last of
// these powers. Lanes that no block fills hold zero, and add nothing. Beyond vector_streams.h, V has
//   V::zero()                        all lanes zero
//   V::multiply(a, b, Index<imm>)    carry-less product of halves, as imm of PCLMULQDQ chooses them
//   V::from_block(x)                 a block into lane 0, the others zero
//   V::reversed(x)                   the bytes of each lane in reverse
//   x.sum()                          XOR of all lanes
//   V::halves_swapped(x)             (perhaps) the halves of each lane exchanged: three products instead of four are
//                                    worth it (A. Karatsuba: the fourth follows from that of the halves' sums), with a
//                                    second table of the powers' halves added
#pragma once

#include <immintrin.h>

#include "aes/vector_streams.h"
#include "aes/x86_block.h"

namespace nbdcrypt::aes {
namespace {

template <class V>
inline constexpr bool kKaratsuba = requires(V x) {
  V::halves_swapped(x);
};

/// Blocks of a group, and powers that are prepared.
template <class V>
inline constexpr size_t kGroupBlocks = kGroupBytes<V> / kBlockBytes;

[[gnu::always_inline]] inline __m128i byte_reversed(__m128i x) noexcept {
  return _mm_shuffle_epi8(x, _mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
}

/// The 256 bits high:low modulo the reversed polynomial, 64 bits at a time: x^128 + x^127 + x^126 + x^121 + 1.
[[gnu::always_inline]] inline __m128i ghash_reduce(__m128i high, __m128i low) noexcept {
  const __m128i polynomial = _mm_set_epi64x(0, static_cast<long long>(uint64_t{0xc2} << 56));
  low = _mm_xor_si128(_mm_shuffle_epi32(low, 0x4e), _mm_clmulepi64_si128(low, polynomial, 0x00));
  low = _mm_xor_si128(_mm_shuffle_epi32(low, 0x4e), _mm_clmulepi64_si128(low, polynomial, 0x00));
  return _mm_xor_si128(high, low);
}

/// Sums of products whose reduction is put off.
template <class V>
struct Products {
  V low = V::zero(), middle = V::zero(), high = V::zero();

  [[gnu::always_inline]] void add(V a, V b) noexcept {
    low = low ^ V::multiply(a, b, Index<0x00>{});
    high = high ^ V::multiply(a, b, Index<0x11>{});
    middle = middle ^ V::multiply(a, b, Index<0x01>{}) ^ V::multiply(a, b, Index<0x10>{});
  }

  /// As add(a, b), when all is added so; `sums`: b with its halves swapped, added to b.
  [[gnu::always_inline]] void add_by_three(V a, V b, V sums) noexcept {
    low = low ^ V::multiply(a, b, Index<0x00>{});
    high = high ^ V::multiply(a, b, Index<0x11>{});
    middle = middle ^ V::multiply(a ^ V::halves_swapped(a), sums, Index<0x00>{});
  }
  [[gnu::always_inline]] void end_by_three() noexcept { middle = middle ^ low ^ high; }

  [[gnu::always_inline]] __m128i reduced() const noexcept {
    const __m128i cross = middle.sum();
    return ghash_reduce(_mm_xor_si128(high.sum(), _mm_bsrli_si128(cross, 8)),
                        _mm_xor_si128(low.sum(), _mm_bslli_si128(cross, 8)));
  }
};

/// a * b; one of them with its x^-1.
[[gnu::always_inline]] inline __m128i ghash_multiply_two(__m128i a, __m128i b) noexcept {
  const __m128i cross = _mm_xor_si128(_mm_clmulepi64_si128(a, b, 0x01), _mm_clmulepi64_si128(a, b, 0x10));
  return ghash_reduce(_mm_xor_si128(_mm_clmulepi64_si128(a, b, 0x11), _mm_bsrli_si128(cross, 8)),
                      _mm_xor_si128(_mm_clmulepi64_si128(a, b, 0x00), _mm_bslli_si128(cross, 8)));
}

/// H * x^-1, without a branch.
[[gnu::always_inline]] inline __m128i ghash_key(const Byte h[16]) noexcept {
  const __m128i x = byte_reversed(load_block(h));
  const __m128i signs = _mm_srai_epi32(_mm_shuffle_epi32(x, 0xff), 31);
  const __m128i polynomial = _mm_set_epi64x(static_cast<long long>(uint64_t{0xc2} << 56), 1);
  const __m128i doubled = _mm_or_si128(_mm_slli_epi64(x, 1), _mm_srli_epi64(_mm_bslli_si128(x, 8), 63));
  return _mm_xor_si128(doubled, _mm_and_si128(signs, polynomial));
}

/// powers[16 * (count - n)] = H^n * x^-1 for n = 1 ... count.
[[gnu::always_inline]] inline void ghash_powers(Byte* powers, const Byte h[16], size_t count) noexcept {
  const __m128i one = ghash_key(h);
  __m128i power = one;
  for (size_t n = count; n-- > 0; power = ghash_multiply_two(power, one)) store_block(powers + kBlockBytes * n, power);
}

template <class V>
[[gnu::flatten]] void gcm_prepare(HashKey& key, const Byte h[16]) noexcept {
  static_assert((kKaratsuba<V> ? 2 : 1) * kGroupBytes<V> <= sizeof key.powers);
  ghash_powers(key.powers, h, kGroupBlocks<V>);
  if constexpr (kKaratsuba<V>) {
    repeat<kInFlight>([&](auto i) {
      const V power = V::load(key.powers + i * sizeof(V));
      (power ^ V::halves_swapped(power)).store(key.powers + kGroupBytes<V> + i * sizeof(V));
    });
  }
}

/// Takes in 1 to kGroupBlocks blocks; powers: [blocks * 16], the highest first.
template <class V>
[[gnu::always_inline]] inline __m128i ghash_some(const Byte* powers, __m128i state, const Byte* in,
                                                 size_t blocks) noexcept {
  const size_t bytes = kBlockBytes * blocks, head = (bytes - 1) % sizeof(V) + 1, missing = sizeof(V) - head;
  Byte first[sizeof(V)] = {}, power[sizeof(V)] = {};
  memcpy(first + missing, in, head);
  memcpy(power + missing, powers, head);
  store_block(first + missing, _mm_xor_si128(load_block(first + missing), byte_reversed(state)));
  Products<V> sum;
  sum.add(V::reversed(V::gather(first)), V::gather(power));
  for (size_t at = head; at < bytes; at += sizeof(V)) sum.add(V::reversed(V::load(in + at)), V::load(powers + at));
  return sum.reduced();
}

/// A group of blocks is taken in vector by vector, the first one last, as it waits for what came before. `powers` are
/// those of gcm_prepare().
template <class V>
struct GroupHash {
  const Byte* const powers;
  Products<V> sum;

  /// i: 0 ... kInFlight - 1.
  template <int kIndex>
  [[gnu::always_inline]] void add(__m128i state, const Byte* in, Index<kIndex>) noexcept {
    constexpr size_t kAt = (kIndex + 1) % kInFlight * sizeof(V);
    V x = V::reversed(V::load(in + kAt));
    if constexpr (kAt == 0) x = x ^ V::from_block(state);
    const V power = V::load(powers + kAt);
    if constexpr (kKaratsuba<V>) sum.add_by_three(x, power, V::load(powers + kGroupBytes<V> + kAt));
    if constexpr (!kKaratsuba<V>) sum.add(x, power);
    settle(sum.low), settle(sum.middle), settle(sum.high);
  }

  [[gnu::always_inline]] __m128i end() noexcept {
    if constexpr (kKaratsuba<V>) sum.end_by_three();
    return sum.reduced();
  }
};

template <class V>
[[gnu::always_inline]] inline __m128i ghash_group(const Byte* powers, __m128i state, const Byte* in) noexcept {
  GroupHash<V> hash{.powers = powers, .sum = {}};
  repeat<kInFlight>([&](auto i) { hash.add(state, in, i); });
  return hash.end();
}

template <class V>
[[gnu::always_inline]] inline __m128i ghash_all(const Byte* powers, size_t kept, __m128i state, const Byte* in,
                                                size_t blocks) noexcept {
  if (kept == kGroupBlocks<V>) {
    for (; blocks >= kept; blocks -= kept, in += kGroupBytes<V>) state = ghash_group<V>(powers, state, in);
  }
  while (blocks > 0) {
    const size_t some = blocks < kept ? blocks : kept;
    state = ghash_some<V>(powers + kBlockBytes * (kept - some), state, in, some);
    blocks -= some, in += kBlockBytes * some;
  }
  return state;
}

template <class V>
[[gnu::flatten]] void gcm_hash(const HashKey& key, Byte state[16], const Byte* in, size_t blocks) noexcept {
  const __m128i now = byte_reversed(load_block(state));
  store_block(state, byte_reversed(ghash_all<V>(key.powers, kGroupBlocks<V>, now, in, blocks)));
}

/// Ghash: powers of its own for this call, no more than it has blocks.
template <class V>
[[gnu::flatten]] void ghash(Byte state[16], const Byte h[16], const Byte* in, size_t blocks) noexcept {
  HashKey key;
  const size_t kept = blocks < 4 ? 1 : blocks < 2 * kGroupBlocks<V> ? 4 : kGroupBlocks<V>;
  if (kept == kGroupBlocks<V>) {
    gcm_prepare<V>(key, h);
  } else {
    ghash_powers(key.powers, h, kept);
  }
  const __m128i now = byte_reversed(load_block(state));
  store_block(state, byte_reversed(ghash_all<V>(key.powers, kept, now, in, blocks)));
}

/// GCM over whole blocks. Ciphertext is hashed between the rounds of AES: that of the same group where it comes in,
/// that of the group before where it goes out.
template <class V, Direction kDirection>
struct Gcm {
  static constexpr uint64_t kBlocks = kGroupBlocks<V>;

  const RoundKeys<Direction::encrypt> keys;
  const Byte* const powers;
  const Byte* in;
  Byte* out;
  uint64_t high, low;  // the counter
  __m128i state;
  size_t blocks;

  [[gnu::always_inline]] Gcm(const Key& key, const HashKey& hash, const GcmRun& run) noexcept
      : keys(key),
        powers(hash.powers),
        in(run.in),
        out(run.out),
        high(Ctr<V, 32>::load_half(run.counter)),
        low(Ctr<V, 32>::load_half(run.counter + 8)),
        state(byte_reversed(load_block(run.state))),
        blocks(run.blocks) {}

  [[gnu::always_inline]] void advance(size_t by) noexcept {
    in += kBlockBytes * by, out += kBlockBytes * by, blocks -= by;
    low = (low & ~uint64_t{0xffffffff}) | static_cast<uint32_t>(low + by);
  }

  [[gnu::always_inline]] bool whole_group() const noexcept {
    return blocks >= kBlocks && Ctr<V, 32>::until_carry(low) >= kBlocks;
  }

  /// The counter mode of one group; kHashes: `hashed`, a group of ciphertext, is taken in meanwhile.
  template <bool kHashes>
  [[gnu::always_inline]] void group(const Byte* hashed) noexcept {
    V x[kInFlight];
    GroupHash<V> hash{.powers = powers, .sum = {}};
    const V k0 = keys.template first<V>(), kn = keys.template last<V>();
    repeat<kInFlight>([&](auto i) { x[i] = V::counters(low, high, i) ^ k0; });
    keys.template middle<kInFlight>(x, [&](auto i) {
      if constexpr (kHashes && i < kInFlight) hash.add(state, hashed, i);
      if constexpr (kHashes && i == kInFlight) state = hash.end();
    });
    repeat<kInFlight>([&](auto i) { x[i] = x[i].enc_last(kn ^ V::load(in + i * sizeof(V))); });
    repeat<kInFlight>([&](auto i) { x[i].store(out + i * sizeof(V)); });
    advance(kBlocks);
  }

  /// Up to a group of blocks; the counter may wrap.
  void part() noexcept {
    const size_t some = blocks < kBlocks ? blocks : kBlocks, bytes = kBlockBytes * some;
    const Byte* const powers_of_some = powers + kBlockBytes * (kBlocks - some);
    alignas(64) Byte stream[kGroupBytes<V>] = {};
    for (size_t i = 0; i < some; i++) {
      const uint64_t count = (low & ~uint64_t{0xffffffff}) | static_cast<uint32_t>(low + i);
      Ctr<V, 32>::store_half(stream + kBlockBytes * i, high),
          Ctr<V, 32>::store_half(stream + kBlockBytes * i + 8, count);
    }
    V x[kInFlight];
    repeat<kInFlight>([&](auto i) { x[i] = V::gather(stream + i * sizeof(V)); });
    keys.template all<kInFlight>(x);
    repeat<kInFlight>([&](auto i) { x[i].store(stream + i * sizeof(V)); });
    if constexpr (kDirection == Direction::decrypt) state = ghash_some<V>(powers_of_some, state, in, some);
    for (size_t i = 0; i < bytes; i += kBlockBytes) {
      store_block(out + i, _mm_xor_si128(load_block(in + i), load_block(stream + i)));
    }
    if constexpr (kDirection == Direction::encrypt) state = ghash_some<V>(powers_of_some, state, out, some);
    advance(some);
  }

  [[gnu::always_inline]] void run() noexcept {
    while (blocks > 0) {
      if (!whole_group()) {
        part();
      } else if constexpr (kDirection == Direction::decrypt) {
        group<true>(in);
      } else {
        group<false>(nullptr);
        const Byte* done = out - kGroupBytes<V>;
        for (; whole_group(); done += kGroupBytes<V>) group<true>(done);
        state = ghash_group<V>(powers, state, done);
      }
    }
  }
};

template <class V, Direction kDirection>
[[gnu::flatten]] void gcm(const Key& key, const HashKey& hash, const GcmRun& run) noexcept {
  Gcm<V, kDirection> gcm(key, hash, run);
  gcm.run();
  store_block(run.state, byte_reversed(gcm.state));
  Ctr<V, 32>::store_half(run.counter + 8, gcm.low);
}

}  // namespace
}  // namespace nbdcrypt::aes
