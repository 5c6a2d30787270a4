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
    const bool carry = __builtin_add_overflow(low, uint64_t{1}, &low);
    asm("" : "+r"(low));  // no branch on the carry: in EAX the counter is secret
    high += carry;
    return block;
  }
  void store(Byte* p) const noexcept {
    const uint64_t half[2] = {__builtin_bswap64(high), __builtin_bswap64(low)};
    memcpy(p, half, sizeof half);
  }
};

/// Where a MAC of the output is taken, its chain is two blocks behind the counter: the output that it takes in next is
/// known before its rounds end. MAC of the input: both work on the same block.
struct CtrMac {
  const Key& key;
  const __m128i k0, kn, between;
  CounterBlock counter;
  const Byte* in;
  Byte* out;
  size_t left;  // blocks that are not in counter mode yet
  __m128i mac, stream;

  [[gnu::always_inline]] CtrMac(const Key& with, const MacRun& run) noexcept
      : key(with),
        k0(load_block(key.enc)),
        kn(load_block(key.enc + kBlockBytes * key.rounds)),
        between(_mm_xor_si128(k0, kn)),
        counter(run.counter),
        in(run.in),
        out(run.out),
        left(run.blocks),
        mac(_mm_xor_si128(load_block(run.state), k0)),
        stream(_mm_setzero_si128()) {}

  [[gnu::always_inline]] void begin_stream() noexcept { stream = _mm_xor_si128(counter.next(), k0); }
  [[gnu::always_inline]] void stream_rounds() noexcept {
    for_middle_rounds(key, [&](__m128i k) { stream = _mm_aesenc_si128(stream, k); });
  }
  [[gnu::always_inline]] void mac_rounds() noexcept {
    for_middle_rounds(key, [&](__m128i k) { mac = _mm_aesenc_si128(mac, k); });
  }
  [[gnu::always_inline]] void both_rounds() noexcept {
    for_middle_rounds(key, [&](__m128i k) { stream = _mm_aesenc_si128(stream, k), mac = _mm_aesenc_si128(mac, k); });
  }
  /// The next block in counter mode, whose stream lacks its last round. Returns what comes out.
  [[gnu::always_inline]] __m128i end_stream(__m128i data) noexcept {
    const __m128i result = _mm_aesenclast_si128(stream, _mm_xor_si128(kn, data));
    store_block(out, result);
    in += kBlockBytes, out += kBlockBytes, left--;
    return result;
  }
  [[gnu::always_inline]] void end_mac(__m128i next) noexcept {
    mac = _mm_aesenclast_si128(mac, _mm_xor_si128(between, next));
  }
  [[gnu::always_inline]] __m128i make_output() noexcept {
    begin_stream();
    stream_rounds();
    return end_stream(load_block(in));
  }

  /// At least one block.
  [[gnu::always_inline]] void of_output() noexcept {
    mac = _mm_xor_si128(mac, make_output());
    if (left > 0) {
      __m128i next = make_output();
      while (left > 0) {
        begin_stream();
        both_rounds();
        end_mac(next);
        next = end_stream(load_block(in));
      }
      mac_rounds();
      end_mac(next);
    }
    mac_rounds();
  }

  [[gnu::always_inline]] void of_input() noexcept {
    __m128i data = load_block(in);
    mac = _mm_xor_si128(mac, data);
    for (;;) {
      begin_stream();
      both_rounds();
      const __m128i now = data;
      if (left > 1) data = load_block(in + kBlockBytes);  // before the output of this block is stored
      end_stream(now);
      if (left == 0) return;
      end_mac(data);
    }
  }
};

template <bool kMacOfOutput>
[[gnu::flatten]] void ctr_mac(const Key& key, const MacRun& run) noexcept {
  if (run.blocks == 0) return;
  CtrMac both(key, run);
  if constexpr (kMacOfOutput) both.of_output();
  if constexpr (!kMacOfOutput) both.of_input();
  store_block(run.state, _mm_aesenclast_si128(both.mac, both.kn));
  both.counter.store(run.counter);
}

}  // namespace
}  // namespace nbdcrypt::aes
