// SPDX-License-Identifier: Apache-2.0
//
// OCB (RFC 7253, 4.2) over whole blocks. Block i is masked with Offset_i = Offset_{i-1} ^ L_{ntz(i)}. In a group of G
// blocks from number m * G on, G a power of two, Offset_{mG + j} = Offset_{mG} ^ D_j, where D_j is the same for all
// groups: so a group begins with one vector of differences to each of its vectors. Blocks before the first such number
// and behind the last whole group take one path that goes block by block.
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
  __m128i offset, checksum;  // offset: of the block before
  alignas(64) Byte difference[kGroupBytes<V>];

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

  [[gnu::always_inline]] void fill_differences() noexcept {
    __m128i sum = _mm_setzero_si128();
    store_block(difference, sum);
    for (size_t j = 1; j < kBlocks; j++) {
      sum = _mm_xor_si128(sum, step(j));
      store_block(difference + kBlockBytes * j, sum);
    }
  }

  /// Whole groups from a multiple of kBlocks on.
  [[gnu::always_inline]] void groups() noexcept {
    const V k0 = keys.template first<V>(), kn = keys.template last<V>();
    const __m128i last_difference = load_block(difference + kGroupBytes<V> - kBlockBytes);
    V sum = V::zero();
    for (; blocks >= kBlocks; blocks -= kBlocks, number += kBlocks) {
      Byte of_first[kBlockBytes];
      store_block(of_first, _mm_xor_si128(offset, step(number)));
      offset = _mm_xor_si128(load_block(of_first), last_difference);
      const V base = V::broadcast(of_first), before = base ^ k0, after = base ^ kn;
      V x[kInFlight];
      repeat<kInFlight>([&](auto i) {
        x[i] = V::load(in + i * sizeof(V));
        if constexpr (kDirection == Direction::encrypt) sum = sum ^ x[i];
        x[i] = x[i] ^ before ^ V::load(difference + i * sizeof(V));
      });
      keys.template middle<kInFlight>(x, [](auto) {});
      repeat<kInFlight>([&](auto i) {
        x[i] = last_round<kDirection>(x[i], after ^ V::load(difference + i * sizeof(V)));
        if constexpr (kDirection == Direction::decrypt) sum = sum ^ x[i];
        x[i].store(out + i * sizeof(V));
      });
      in += kGroupBytes<V>, out += kGroupBytes<V>;
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
    if (blocks >= kBlocks) fill_differences();
    while (blocks > 0) {
      const size_t until_group = kBlocks - number % kBlocks;
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
