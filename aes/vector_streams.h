// SPDX-License-Identifier: Apache-2.0
//
// The modes whose blocks do not wait for each other: XTS, CTR, and decryption in CBC and CFB. Each block has a mask,
// which is known before any block is processed: the tweak, the counter, or the ciphertext block before it. A batch is
// one stream of blocks, walked in groups of kInFlight vectors across the borders of units. A unit's slot in `iv` always
// holds the mask of the next block, so it is right at every unit's end. Groups inside one unit take the fast path of
// their mode; groups that span units, counters about to wrap and the end of the batch take one path that collects masks
// block by block. Beyond vector_rounds.h, V has
//   V::One                                a vector of one block: load(p), store(p), times_x() (IEEE 1619-2018, 5.2)
//   V::gather(p)                          kLanes blocks from p that were just stored one by one
//   V::after(a, b)                        the last lane of a, then all lanes of b but the last
//   store_last(p)                         the last lane
//   V::first_tweaks(p)                    lane i: *p times x^i
//   V::spread_tweak(t, Index<i>)          t[0] times x^(i * kLanes), given t[0] to t[i - 1]
//   V::next_tweak(t, next, Index<i>)      t[i] times x^(8 * kLanes), given next[0] to next[i - 1]
//   V::TweakChain                         in place of the tweaks above in 64-bit code, where V has one: a tweak in
//                                         general registers, made from p; load(p), store(p), times_x()
//   V::counters(low, high, Index<i>)      lane j: the big-endian counter (high, low + i * kLanes + j), no carry
#pragma once

#include <bit>

#include "aes/cursor.h"
#include "aes/vector_rounds.h"

namespace nbdcrypt::aes {
namespace {

template <class V, Direction kDirection>
struct Xts {
  static constexpr Direction kCipher = kDirection;

  [[gnu::always_inline]] static void apply(const RoundKeys<kCipher>& keys, V* x, const V* masks) noexcept {
    repeat<kInFlight>([&](auto i) { x[i] = x[i] ^ masks[i]; });
    keys.template all<kInFlight>(x);
    repeat<kInFlight>([&](auto i) { x[i] = x[i] ^ masks[i]; });
  }

  /// Masks of the next bytes / 16 blocks, all in one unit.
  static void collect(const Cursor& at, Byte* masks, size_t bytes) noexcept {
    using One = typename V::One;
    One tweak = One::load(at.iv);
    for (size_t i = 0; i < bytes; i += kBlockBytes) {
      tweak.store(masks + i);
      tweak = tweak.times_x();
    }
    tweak.store(at.iv);
  }

  /// While one group is encrypted, the tweaks of the next one are computed between its rounds, in the same unit or from
  /// the start of the next unit. The first and the last round key are added to the tweaks, which shortens the way from
  /// load to store, on which nothing else happens: without that, 15 % were lost (ymm registers, Zen 3).
  [[gnu::always_inline]] static bool fast(const RoundKeys<kCipher>& keys, Cursor& at) noexcept {
    if constexpr (sizeof(void*) == 8 && requires { typename V::TweakChain; }) return fast_by_chain(keys, at);
    const V k0 = keys.template first<V>(), kn = keys.template last<V>();
    V t[kInFlight], before[kInFlight], after[kInFlight], next[kInFlight], x[kInFlight];
    t[0] = V::first_tweaks(at.iv);
    repeat<kInFlight - 1>([&](auto i) { t[i + 1] = V::spread_tweak(t, Index<i + 1>{}); });
    repeat<kInFlight>([&](auto i) { before[i] = t[i] ^ k0, after[i] = t[i] ^ kn; });
    for (;;) {
      const size_t unit_left = at.unit_left - kGroupBytes<V>, left = at.left - kGroupBytes<V>;
      const bool same_unit = unit_left >= kGroupBytes<V>;
      const bool next_unit = unit_left == 0 && left > 0 && at.unit >= kGroupBytes<V>;
      repeat<kInFlight>([&](auto i) { x[i] = V::load(at.in + i * sizeof(V)) ^ before[i]; });
      if (same_unit) {
        keys.template middle<kInFlight>(x, [&](auto i) {
          if constexpr (i < kInFlight) {
            next[i] = V::next_tweak(t, next, i);
            before[i] = next[i] ^ k0;
          }
        });
      } else {
        V::next_tweak(t, next, Index<0>{}).store_first(at.iv);
        keys.template middle<kInFlight>(x, [&](auto i) {
          if constexpr (i == 0) next[0] = V::first_tweaks(next_unit ? at.iv + kBlockBytes : at.iv);
          if constexpr (i > 0 && i < kInFlight) next[i] = V::spread_tweak(next, i);
          if constexpr (i < kInFlight) before[i] = next[i] ^ k0;
        });
      }
      repeat<kInFlight>([&](auto i) {
        x[i] = last_round<kCipher>(x[i], after[i]);
        x[i].store(at.out + i * sizeof(V));
        after[i] = next[i] ^ kn;
      });
      at.advance(kGroupBytes<V>);
      if (!same_unit && !next_unit) return true;
      repeat<kInFlight>([&](auto i) { t[i] = next[i]; });
    }
  }

  /// The same where general registers take the tweaks from one block to the next, and vectors pick them up from memory
  /// a group later: of the vector units nothing is asked but the rounds and three additions.
  [[gnu::always_inline]] static bool fast_by_chain(const RoundKeys<kCipher>& keys, Cursor& at) noexcept {
    const V k0 = keys.template first<V>(), kn = keys.template last<V>();
    alignas(sizeof(V)) Byte tweaks[2][kGroupBytes<V>];
    Byte *now = tweaks[0], *next = tweaks[1];
    typename V::TweakChain tweak(at.iv);
    // Always inlined, as the chain has to stay in its registers.
    const auto step = [&](Byte * to) __attribute__((always_inline)) {
      for (int lane = 0; lane < V::kLanes; ++lane) {
        tweak.store(to + lane * kBlockBytes);
        tweak.times_x();
      }
    };
    for (int i = 0; i < kInFlight; ++i) step(now + i * sizeof(V));
    for (;;) {
      const size_t unit_left = at.unit_left - kGroupBytes<V>, left = at.left - kGroupBytes<V>;
      const bool same_unit = unit_left >= kGroupBytes<V>;
      const bool next_unit = unit_left == 0 && left > 0 && at.unit >= kGroupBytes<V>;
      if (!same_unit) {
        tweak.store(at.iv);
        tweak.load(next_unit ? at.iv + kBlockBytes : at.iv);
      }
      V x[kInFlight];
      repeat<kInFlight>([&](auto i) { x[i] = V::load(at.in + i * sizeof(V)) ^ k0 ^ V::load(now + i * sizeof(V)); });
      keys.template middle<kInFlight>(
          x, [&](auto i) __attribute__((always_inline)) {
            if constexpr (i < kInFlight) step(next + i * sizeof(V));
          });
      repeat<kInFlight>(
          [&](auto i) { last_round<kCipher>(x[i], kn ^ V::load(now + i * sizeof(V))).store(at.out + i * sizeof(V)); });
      at.advance(kGroupBytes<V>);
      if (!same_unit && !next_unit) return true;
      Byte* const done = now;
      now = next;
      next = done;
    }
  }
};

/// `kCounterBits`: how many bits count, at the end of the block; the others stay.
template <class V, int kCounterBits>
struct Ctr {
  static constexpr Direction kCipher = Direction::encrypt;

  [[gnu::always_inline]] static void apply(const RoundKeys<kCipher>& keys, V* x, V* masks) noexcept {
    keys.template all<kInFlight>(masks);
    repeat<kInFlight>([&](auto i) { x[i] = x[i] ^ masks[i]; });
  }

  static uint64_t big_endian(uint64_t x) noexcept {
    return std::endian::native == std::endian::big ? x : __builtin_bswap64(x);
  }
  static uint64_t load_half(const Byte* p) noexcept {
    uint64_t half;
    memcpy(&half, p, sizeof half);
    return big_endian(half);
  }
  static void store_half(Byte* p, uint64_t half) noexcept {
    half = big_endian(half);
    memcpy(p, &half, sizeof half);
  }

  static void collect(const Cursor& at, Byte* masks, size_t bytes) noexcept {
    uint64_t high = load_half(at.iv), low = load_half(at.iv + 8);
    for (size_t i = 0; i < bytes; i += kBlockBytes) {
      store_half(masks + i, high), store_half(masks + i + 8, low);
      if constexpr (kCounterBits == 32) low = (low & ~uint64_t{0xffffffff}) | static_cast<uint32_t>(low + 1);
      if constexpr (kCounterBits == 128) high += ++low == 0;
    }
    store_half(at.iv, high), store_half(at.iv + 8, low);
  }

  /// How many blocks can be counted before a carry leaves the low part.
  [[gnu::always_inline]] static uint64_t until_carry(uint64_t low) noexcept {
    if constexpr (kCounterBits == 32) return 0xffffffff - static_cast<uint32_t>(low);
    if constexpr (kCounterBits == 128) return ~low;
  }

  [[gnu::always_inline]] static bool fast(const RoundKeys<kCipher>& keys, Cursor& at) noexcept {
    constexpr uint64_t kBlocks = kGroupBytes<V> / kBlockBytes;
    const uint64_t high = load_half(at.iv);
    uint64_t low = load_half(at.iv + 8);
    size_t bytes = 0;
    for (; at.unit_left - bytes >= kGroupBytes<V> && until_carry(low) >= kBlocks; bytes += kGroupBytes<V>) {
      V x[kInFlight], masks[kInFlight];
      repeat<kInFlight>([&](auto i) { masks[i] = V::counters(low, high, i); });
      keys.template all<kInFlight>(masks);
      repeat<kInFlight>([&](auto i) { x[i] = V::load(at.in + bytes + i * sizeof(V)) ^ masks[i]; });
      repeat<kInFlight>([&](auto i) { x[i].store(at.out + bytes + i * sizeof(V)); });
      low += kBlocks;
    }
    if (bytes == 0) return false;
    store_half(at.iv + 8, low);
    at.advance(bytes);
    return true;
  }
};

enum class Feedback { cbc, cfb };

template <class V, Feedback kFeedback>
struct FeedbackDecrypt {
  static constexpr Direction kCipher = kFeedback == Feedback::cbc ? Direction::decrypt : Direction::encrypt;

  [[gnu::always_inline]] static void apply(const RoundKeys<kCipher>& keys, V* x, V* masks) noexcept {
    V* const through = kFeedback == Feedback::cbc ? x : masks;
    keys.template all<kInFlight>(through);
    repeat<kInFlight>([&](auto i) { x[i] = x[i] ^ masks[i]; });
  }

  static void collect(const Cursor& at, Byte* masks, size_t bytes) noexcept {
    memcpy(masks, at.iv, kBlockBytes);
    memcpy(masks + kBlockBytes, at.in, bytes - kBlockBytes);
    memcpy(at.iv, at.in + bytes - kBlockBytes, kBlockBytes);
  }

  /// Within a group the blocks before are loaded again: no exchange of lanes takes the place of an AES instruction.
  [[gnu::always_inline]] static bool fast(const RoundKeys<kCipher>& keys, Cursor& at) noexcept {
    V previous = V::broadcast(at.iv);
    size_t bytes = 0;
    for (; at.unit_left - bytes >= kGroupBytes<V>; bytes += kGroupBytes<V>) {
      V x[kInFlight], masks[kInFlight];
      repeat<kInFlight>([&](auto i) {
        const Byte* const p = at.in + bytes + i * sizeof(V);
        x[i] = V::load(p);
        if constexpr (i == 0) masks[i] = V::after(previous, x[i]);
        if constexpr (i > 0) masks[i] = V::load(p - kBlockBytes);
      });
      previous = x[kInFlight - 1];
      apply(keys, x, masks);
      repeat<kInFlight>([&](auto i) { x[i].store(at.out + bytes + i * sizeof(V)); });
    }
    previous.store_last(at.iv);
    at.advance(bytes);
    return true;
  }
};

/// Up to a group of blocks, whatever units they belong to.
template <class V, class Mode>
[[gnu::always_inline]] inline void mixed_group(const RoundKeys<Mode::kCipher>& keys, Cursor& at) noexcept {
  const size_t bytes = at.left < kGroupBytes<V> ? at.left : kGroupBytes<V>;
  Byte* const out = at.out;
  Byte data[kGroupBytes<V>] = {}, collected[kGroupBytes<V>] = {};
  memcpy(data, at.in, bytes);
  for (size_t done = 0; done < bytes;) {
    const size_t part = at.unit_left < bytes - done ? at.unit_left : bytes - done;
    Mode::collect(at, collected + done, part);
    at.advance(part);
    done += part;
  }
  V x[kInFlight], masks[kInFlight];
  repeat<kInFlight>([&](auto i) { x[i] = V::load(data + i * sizeof(V)); });
  repeat<kInFlight>([&](auto i) { masks[i] = V::gather(collected + i * sizeof(V)); });
  Mode::apply(keys, x, masks);
  repeat<kInFlight>([&](auto i) { x[i].store(data + i * sizeof(V)); });
  memcpy(out, data, bytes);
}

template <class V, class Mode>
[[gnu::flatten]] void stream(const Key& key, const Run& run) noexcept {
  const RoundKeys<Mode::kCipher> keys(key);
  Cursor at(run);
  while (at.left > 0) {
    if (at.unit_left >= kGroupBytes<V> && Mode::fast(keys, at)) continue;
    mixed_group<V, Mode>(keys, at);
  }
}

}  // namespace
}  // namespace nbdcrypt::aes
