// SPDX-License-Identifier: Apache-2.0
//
// The rounds of AES on vectors, and ECB. Kernels of all backends with AES instructions are written once over a vector
// type `V` that holds kLanes blocks: two in a ymm register, four in a zmm, one elsewhere. Eight vectors are in flight,
// as many as a latency of four cycles and two instructions a cycle need. V is a struct with
//   V::load(p), store(p)              kLanes consecutive blocks, any alignment
//   V::broadcast(p), store_first(p)   one block: into all lanes; out of lane 0
//   a ^ b, x.enc(k), x.enc_last(k), x.dec(k), x.dec_last(k)
// and with what vector_streams.h and vector_chains.h ask for. enc() is a round as FIPS 197 has it, the key at its end,
// and dec() one of the equivalent inverse cipher. Other instructions say so by a member of that name:
//   V::kKeyFirst         (Arm) a round begins with the key of the round before; x.enc_final(k), x.dec_final(k) are a
//                        round without MixColumns, enc_last() and dec_last() only add the last key
//   V::kStraightInverse  (POWER) dec() is a round of the straight inverse cipher, with encryption keys
// All of it lies in an anonymous namespace and is inlined: a backend compiled for a newer processor must leave no
// function behind that the linker could give to others.
#pragma once

#include <string.h>

#include "aes/backend.h"

namespace nbdcrypt::aes {
namespace {

inline constexpr int kInFlight = 8;

template <int kIndex>
struct Index {
  constexpr operator int() const noexcept { return kIndex; }
};

/// f(Index<0>), f(Index<1>), ..., f(Index<n - 1>), unrolled.
template <int kCount, class F>
[[gnu::always_inline]] inline void repeat(const F& f) noexcept {
  if constexpr (kCount > 0) {
    repeat<kCount - 1>(f);
    f(Index<kCount - 1>{});
  }
}

enum class Direction { encrypt, decrypt };

template <Direction kDirection, class V>
[[gnu::always_inline]] inline V round(V x, V key) noexcept {
  if constexpr (kDirection == Direction::encrypt) return x.enc(key);
  if constexpr (kDirection == Direction::decrypt) return x.dec(key);
}

template <Direction kDirection, class V>
[[gnu::always_inline]] inline V last_round(V x, V key) noexcept {
  if constexpr (kDirection == Direction::encrypt) return x.enc_last(key);
  if constexpr (kDirection == Direction::decrypt) return x.dec_last(key);
}

template <Direction kDirection, class V>
[[gnu::always_inline]] inline V final_round(V x, V key) noexcept {
  if constexpr (kDirection == Direction::encrypt) return x.enc_final(key);
  if constexpr (kDirection == Direction::decrypt) return x.dec_final(key);
}

/// Work between rounds stays between them, where V has x.settle(), before which x has to be computed: GCC would put it
/// off until its result is used, behind the last round.
template <class V>
[[gnu::always_inline]] inline void settle(V& x) noexcept {
  if constexpr (requires { x.settle(); }) x.settle();
}

template <class V>
inline constexpr bool kKeyFirst = requires {
  V::kKeyFirst;
};
template <class V>
inline constexpr bool kStraightInverse = requires {
  V::kStraightInverse;
};

/// The round keys for a direction, in order of use.
template <Direction kDirection>
struct RoundKeys {
  const Key& key;
  uint32_t rounds;

  [[gnu::always_inline]] explicit RoundKeys(const Key& of) noexcept : key(of), rounds(of.rounds) {}

  template <class V>
  [[gnu::always_inline]] V at(uint32_t r) const noexcept {
    if constexpr (kDirection == Direction::encrypt) return V::broadcast(key.enc + kBlockBytes * r);
    if constexpr (kDirection == Direction::decrypt) {
      return V::broadcast(kStraightInverse<V> ? key.enc + kBlockBytes * (rounds - r) : key.dec + kBlockBytes * r);
    }
  }

  /// What is added to a block before middle().
  template <class V>
  [[gnu::always_inline]] V first() const noexcept {
    if constexpr (kKeyFirst<V>) return V::zero();
    if constexpr (!kKeyFirst<V>) return at<V>(0);
  }
  template <class V>
  [[gnu::always_inline]] V last() const noexcept {
    return at<V>(rounds);
  }

  /// All rounds but the last, on x[N] to which first() was added. between(Index<i>) is called behind round i + 1 for
  /// i < kPlaces: a place for work that does not depend on x.
  static constexpr int kPlaces = 9;
  template <int N, class V, class Between>
  [[gnu::always_inline]] void middle(V* x, const Between& between) const noexcept {
    const auto one = [&](uint32_t r) {
      const V k = at<V>(kKeyFirst<V> ? r - 1 : r);
      repeat<N>([&](auto i) { x[i] = round<kDirection>(x[i], k); });
    };
    repeat<kPlaces>([&](auto i) __attribute__((always_inline)) {
      one(i + 1u);
      between(i);
    });
    if (rounds > 10) one(10), one(11);
    if (rounds > 12) one(12), one(13);
    if constexpr (kKeyFirst<V>) {
      const V k = at<V>(rounds - 1);
      repeat<N>([&](auto i) { x[i] = final_round<kDirection>(x[i], k); });
    }
  }

  /// x[N], encrypted or decrypted.
  template <int N, class V>
  [[gnu::always_inline]] void all(V* x) const noexcept {
    const V k0 = first<V>();
    repeat<N>([&](auto i) { x[i] = x[i] ^ k0; });
    middle<N>(x, [](auto) {});
    const V kn = last<V>();
    repeat<N>([&](auto i) { x[i] = last_round<kDirection>(x[i], kn); });
  }
};

/// Bytes of kInFlight vectors.
template <class V>
inline constexpr size_t kGroupBytes = kInFlight* V::kLanes* kBlockBytes;

template <int N, Direction kDirection, class V>
[[gnu::always_inline]] inline void ecb_group(const RoundKeys<kDirection>& keys, const Byte* in, Byte* out) noexcept {
  V x[N];
  repeat<N>([&](auto i) { x[i] = V::load(in + i * sizeof(V)); });
  keys.template all<N>(x);
  repeat<N>([&](auto i) { x[i].store(out + i * sizeof(V)); });
}

/// Blocks: ECB over any number of blocks.
template <class V, Direction kDirection>
[[gnu::flatten]] void ecb_blocks(const Key& key, const Byte* in, Byte* out, size_t blocks) noexcept {
  const RoundKeys<kDirection> keys(key);
  size_t bytes = kBlockBytes * blocks;
  for (; bytes >= kGroupBytes<V>; bytes -= kGroupBytes<V>, in += kGroupBytes<V>, out += kGroupBytes<V>) {
    ecb_group<kInFlight, kDirection, V>(keys, in, out);
  }
  if (bytes == kBlockBytes) {
    V x[1] = {V::broadcast(in)};
    keys.template all<1>(x);
    x[0].store_first(out);
  } else if (bytes > 0) {
    Byte padded[kGroupBytes<V>] = {};
    memcpy(padded, in, bytes);
    ecb_group<kInFlight, kDirection, V>(keys, padded, padded);
    memcpy(out, padded, bytes);
  }
}

template <class V, Direction kDirection>
void ecb(const Key& key, const Run& run) noexcept {
  ecb_blocks<V, kDirection>(key, run.in, run.out, run.unit / kBlockBytes * run.count);
}

}  // namespace
}  // namespace nbdcrypt::aes
