// SPDX-License-Identifier: Apache-2.0
//
// CBC-MAC, alone and with counter mode in its shadow, for CCM and EAX. A single chain waits for every round, and leaves
// the AES unit idle for most of that time, in which the counter of another block is encrypted for nothing. What is
// added between two blocks goes into the last round key of the first, so that only rounds are left to wait for.
#pragma once

#include <immintrin.h>

#include "aes/vector_streams.h"
#include "aes/x86_block.h"

namespace nbdcrypt::aes {
namespace {

/// one(k) with the key of each round but the first and the last.
template <class F>
[[gnu::always_inline]] inline void for_middle_rounds(const Key& key, const F& one) noexcept {
  repeat<9>([&](auto i) { one(load_block(key.enc + kBlockBytes * (i + 1))); });
  if (key.rounds > 10) one(load_block(key.enc + 10 * kBlockBytes)), one(load_block(key.enc + 11 * kBlockBytes));
  if (key.rounds > 12) one(load_block(key.enc + 12 * kBlockBytes)), one(load_block(key.enc + 13 * kBlockBytes));
}

[[gnu::flatten]] inline void cbc_mac(const Key& key, Byte state[16], const Byte* in, size_t blocks) noexcept {
  if (blocks == 0) return;
  const __m128i k0 = load_block(key.enc), kn = load_block(key.enc + kBlockBytes * key.rounds);
  const __m128i between = _mm_xor_si128(k0, kn);
  __m128i mac = _mm_xor_si128(_mm_xor_si128(load_block(state), k0), load_block(in));
  for (;; in += kBlockBytes) {
    for_middle_rounds(key, [&](__m128i k) { mac = _mm_aesenc_si128(mac, k); });
    if (--blocks == 0) break;
    mac = _mm_aesenclast_si128(mac, _mm_xor_si128(between, load_block(in + kBlockBytes)));
  }
  store_block(state, _mm_aesenclast_si128(mac, kn));
}

/// The next counter block, all bits counting.
struct CounterBlock {
  uint64_t high, low;

  explicit CounterBlock(const Byte* p) noexcept {
    memcpy(&high, p, sizeof high), memcpy(&low, p + 8, sizeof low);
    high = __builtin_bswap64(high), low = __builtin_bswap64(low);
  }
  [[gnu::always_inline]] __m128i next() noexcept {
    const __m128i block =
        _mm_set_epi64x(static_cast<long long>(__builtin_bswap64(low)), static_cast<long long>(__builtin_bswap64(high)));
    high += ++low == 0;
    return block;
  }
  void store(Byte* p) const noexcept {
    const uint64_t half[2] = {__builtin_bswap64(high), __builtin_bswap64(low)};
    memcpy(p, half, sizeof half);
  }
};

/// kMacOfOutput: block i is hashed while the keystream of block i + 1 is made; else both in the same step.
template <bool kMacOfOutput>
[[gnu::flatten]] void ctr_mac(const Key& key, const MacRun& run) noexcept {
  if (run.blocks == 0) return;
  const __m128i k0 = load_block(key.enc), kn = load_block(key.enc + kBlockBytes * key.rounds);
  const __m128i between = _mm_xor_si128(k0, kn);
  CounterBlock counter(run.counter);
  const Byte* in = run.in;
  Byte* out = run.out;
  size_t blocks = run.blocks;
  __m128i data = load_block(in), stream = _mm_xor_si128(counter.next(), k0);
  __m128i mac = _mm_xor_si128(load_block(run.state), k0);
  if constexpr (kMacOfOutput) {
    for_middle_rounds(key, [&](__m128i k) { stream = _mm_aesenc_si128(stream, k); });
    data = _mm_aesenclast_si128(stream, _mm_xor_si128(kn, data));
    store_block(out, data);
    for (;;) {
      mac = _mm_xor_si128(mac, data);
      if (--blocks == 0) break;
      in += kBlockBytes, out += kBlockBytes;
      stream = _mm_xor_si128(counter.next(), k0);
      for_middle_rounds(key, [&](__m128i k) { stream = _mm_aesenc_si128(stream, k), mac = _mm_aesenc_si128(mac, k); });
      data = _mm_aesenclast_si128(stream, _mm_xor_si128(kn, load_block(in)));
      mac = _mm_aesenclast_si128(mac, between);
      store_block(out, data);
    }
    for_middle_rounds(key, [&](__m128i k) { mac = _mm_aesenc_si128(mac, k); });
  } else {
    mac = _mm_xor_si128(mac, data);
    for (;; out += kBlockBytes) {
      for_middle_rounds(key, [&](__m128i k) { stream = _mm_aesenc_si128(stream, k), mac = _mm_aesenc_si128(mac, k); });
      const __m128i result = _mm_aesenclast_si128(stream, _mm_xor_si128(kn, data));
      if (--blocks > 0) in += kBlockBytes, data = load_block(in);
      store_block(out, result);
      if (blocks == 0) break;
      mac = _mm_aesenclast_si128(mac, _mm_xor_si128(between, data));
      stream = _mm_xor_si128(counter.next(), k0);
    }
  }
  store_block(run.state, _mm_aesenclast_si128(mac, kn));
  counter.store(run.counter);
}

}  // namespace
}  // namespace nbdcrypt::aes
