// SPDX-License-Identifier: Apache-2.0
//
// OCB (RFC 7253, 4.2) over whole blocks. Block i is masked with Offset_i = Offset_{i-1} ^ L_{ntz(i)}. In a group of
// blocks mG + 1 to mG + G, G a power of two, Offset_{mG + j} = Offset_{mG} ^ D_j, where D_j is the same for all groups
// but for j = G, which depends on how often G * (m + 1) can be halved. So a group begins with one difference for each
// of its vectors, the last one out of a table. Blocks beside whole groups take one path that goes block by block.
#pragma once

#include "aes/vector_streams.h"
#include "aes/x86_block.h"

namespace nbdcrypt::aes {
namespace {

template <class V, Direction kDirection>
struct Ocb {
  static constexpr size_t kBlocks = kGroupBytes<V> / kBlockBytes;

  const RoundKeys<kDirection> keys;
  const Byte* const l;
  const Byte* in;
  Byte* out;
  uint64_t number;  // of the next block
  size_t blocks;
  __m128i offset, checksum;           // offset: of the block before
  static constexpr size_t kKept = 8;  // last vectors that are at hand: for all but one group in 256
  static constexpr size_t kLast = kGroupBytes<V> - sizeof(V);
  alignas(64) Byte difference[kLast + kKept * sizeof(V)];

  [[gnu::always_inline]] Ocb(const Key& key, const OcbRun& run) noexcept
      : keys(key),
        l(run.l),
        in(run.in),
        out(run.out),
        number(run.first),
        blocks(run.blocks),
        offset(load_block(run.offset)),
        checksum(load_block(run.checksum)) {}

  [[gnu::always_inline]] __m128i step(uint64_t block) const noexcept {
    return load_block(l + kBlockBytes * __builtin_ctzll(block));
  }

  /// The last vector for a group whose last block has `zeros` zeros at the end of its number.
  [[gnu::always_inline]] Byte* last_difference(int zeros) noexcept {
    constexpr int kFirst = __builtin_ctzll(kBlocks);
    const size_t slot = static_cast<size_t>(zeros - kFirst) % kKept;
    return difference + kLast + slot * sizeof(V);
  }

  [[gnu::always_inline]] void fill_last_difference(int zeros, const Byte* but_last, __m128i until_last) noexcept {
    Byte* const to = last_difference(zeros);
    memcpy(to, but_last, sizeof(V) - kBlockBytes);
    store_block(to + sizeof(V) - kBlockBytes, _mm_xor_si128(until_last, load_block(l + kBlockBytes * zeros)));
  }

  /// Whole groups; their first block's number is one more than a multiple of kBlocks.
  [[gnu::always_inline]] void groups() noexcept {
    constexpr int kFirst = __builtin_ctzll(kBlocks), kEnd = kFirst + kKept;
    __m128i sum_of_steps = _mm_setzero_si128();
    Byte but_last[sizeof(V)];
    for (size_t j = 1; j < kBlocks; j++) {
      sum_of_steps = _mm_xor_si128(sum_of_steps, step(j));
      store_block(j <= kBlocks - V::kLanes ? difference + kBlockBytes * (j - 1)
                                           : but_last + kBlockBytes * (j - 1 + V::kLanes - kBlocks),
                  sum_of_steps);
    }
    for (int zeros = kFirst; zeros < kEnd; zeros++) fill_last_difference(zeros, but_last, sum_of_steps);
    const V k0 = keys.template first<V>(), kn = keys.template last<V>();
    V sum = V::zero();
    for (; blocks >= kBlocks; blocks -= kBlocks, number += kBlocks) {
      const int zeros = __builtin_ctzll(number + kBlocks - 1);
      if (zeros >= kEnd) fill_last_difference(zeros, but_last, sum_of_steps);
      const Byte* const last = last_difference(zeros);
      Byte of_before[kBlockBytes];
      store_block(of_before, offset);
      offset = _mm_xor_si128(offset, load_block(last + sizeof(V) - kBlockBytes));
      const V base = V::broadcast(of_before), before = base ^ k0, after = base ^ kn;
      const auto difference_of = [&](auto i) {
        if constexpr (i < kInFlight - 1) return V::load(difference + i * sizeof(V));
        if constexpr (i == kInFlight - 1) return V::load(last);
      };
      V x[kInFlight];
      repeat<kInFlight>([&](auto i) {
        x[i] = V::load(in + i * sizeof(V));
        if constexpr (kDirection == Direction::encrypt) sum = sum ^ x[i];
        x[i] = x[i] ^ before ^ difference_of(i);
      });
      keys.template middle<kInFlight>(x, [](auto) {});
      repeat<kInFlight>([&](auto i) {
        x[i] = last_round<kDirection>(x[i], after ^ difference_of(i));
        if constexpr (kDirection == Direction::decrypt) sum = sum ^ x[i];
        x[i].store(out + i * sizeof(V));
      });
      in += kGroupBytes<V>, out += kGroupBytes<V>;
      if (zeros >= kEnd)
        fill_last_difference(kFirst + (zeros - kFirst) % static_cast<int>(kKept), but_last, sum_of_steps);
    }
    checksum = _mm_xor_si128(checksum, sum.sum());
  }

  void part(size_t some) noexcept {
    const size_t bytes = kBlockBytes * some;
    alignas(64) Byte data[kGroupBytes<V>] = {}, masks[kGroupBytes<V>] = {};
    for (size_t at = 0; at < bytes; at += kBlockBytes) {
      const __m128i block = load_block(in + at);
      if constexpr (kDirection == Direction::encrypt) checksum = _mm_xor_si128(checksum, block);
      offset = _mm_xor_si128(offset, step(number++));
      store_block(masks + at, offset);
      store_block(data + at, _mm_xor_si128(block, offset));
    }
    V x[kInFlight];
    repeat<kInFlight>([&](auto i) { x[i] = V::gather(data + i * sizeof(V)); });
    keys.template all<kInFlight>(x);
    repeat<kInFlight>([&](auto i) { x[i].store(data + i * sizeof(V)); });
    for (size_t at = 0; at < bytes; at += kBlockBytes) {
      const __m128i block = _mm_xor_si128(load_block(data + at), load_block(masks + at));
      if constexpr (kDirection == Direction::decrypt) checksum = _mm_xor_si128(checksum, block);
      store_block(out + at, block);
    }
    in += bytes, out += bytes, blocks -= some;
  }

  [[gnu::always_inline]] void run() noexcept {
    while (blocks > 0) {
      const size_t until_group = kBlocks - (number - 1) % kBlocks;
      if (until_group == kBlocks && blocks >= kBlocks) {
        groups();
      } else {
        part(blocks < until_group ? blocks : until_group);
      }
    }
  }
};

template <class V, Direction kDirection>
[[gnu::flatten]] void ocb(const Key& key, const OcbRun& run) noexcept {
  Ocb<V, kDirection> ocb(key, run);
  ocb.run();
  store_block(run.offset, ocb.offset);
  store_block(run.checksum, ocb.checksum);
}

}  // namespace
}  // namespace nbdcrypt::aes
