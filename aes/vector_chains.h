// SPDX-License-Identifier: Apache-2.0
//
// The modes whose blocks wait for each other: encryption in CBC and CFB, and OFB. One chain leaves the AES unit idle
// most of the time, so a batch runs as many units side by side as fill it, V::kChains vectors of V::kLanes units. Each
// is read and written a cache line at a time, as the lines of sectors of 4096 bytes fall into the same cache set and
// would not last from one block to the next; a transposition turns lines of units into vectors of blocks. Beyond
// vector_rounds.h, V has
//   V::kChains           vectors side by side
//   V::transpose(x)      x[kLanes]: lane j of x[i] and lane i of x[j] change places
//   V::kCopiedLanes      (perhaps) copying blocks into their places one by one is cheaper than a transposition
#pragma once

#include "aes/vector_rounds.h"

namespace nbdcrypt::aes {
namespace {

enum class Chaining { cbc, cfb, ofb };

template <class V>
inline constexpr bool kCopiedLanes = requires {
  V::kCopiedLanes;
};

inline constexpr int kLineBytes = 64, kLineBlocks = kLineBytes / kBlockBytes;

/// The units that N vectors work on. Lanes beyond the last unit repeat it: they read the same bytes before any is
/// written, and write the same result.
template <class V, int N>
struct Units {
  static constexpr int kUnits = N * V::kLanes;

  const Byte* in[kUnits];
  Byte* out[kUnits];
  Byte* iv[kUnits];

  Units(const Run& run, size_t first) noexcept {
    for (size_t i = 0; i < kUnits; i++) {
      const size_t unit = first + i < run.count ? first + i : run.count - 1;
      in[i] = run.in + unit * run.unit, out[i] = run.out + unit * run.unit, iv[i] = run.iv + kBlockBytes * unit;
    }
  }
};

/// One block from each of N vectors: `data` becomes the output, `state` what the next block is chained to.
/// `between` as in RoundKeys::middle().
template <Chaining kChaining, int N, class V, class Between>
[[gnu::always_inline]] inline void chain_blocks(const RoundKeys<Direction::encrypt>& keys, V* state, V* data,
                                                const Between& between) noexcept {
  const V k0 = keys.template first<V>(), kn = keys.template last<V>();
  repeat<N>([&](auto i) { state[i] = state[i] ^ (kChaining == Chaining::cbc ? data[i] ^ k0 : k0); });
  keys.template middle<N>(state, between);
  repeat<N>([&](auto i) {
    if constexpr (kChaining == Chaining::cbc) data[i] = state[i] = state[i].enc_last(kn);
    if constexpr (kChaining == Chaining::cfb) data[i] = state[i] = state[i].enc_last(kn ^ data[i]);
    if constexpr (kChaining == Chaining::ofb) state[i] = state[i].enc_last(kn), data[i] = data[i] ^ state[i];
  });
}

/// One block from each of p[kLanes], at `offset`.
template <class V>
[[gnu::always_inline]] inline V load_lanes(const Byte* const* p, size_t offset) noexcept {
  Byte blocks[sizeof(V)];
  for (size_t i = 0; i < V::kLanes; i++) memcpy(blocks + kBlockBytes * i, p[i] + offset, kBlockBytes);
  return V::gather(blocks);
}

template <class V>
[[gnu::always_inline]] inline void store_lanes(V x, Byte* const* p, size_t offset) noexcept {
  Byte blocks[sizeof(V)];
  x.store(blocks);
  for (size_t i = 0; i < V::kLanes; i++) memcpy(p[i] + offset, blocks + kBlockBytes * i, kBlockBytes);
}

/// A line of each unit, block by block: what N vectors take or give. It is moved in squares of kLanes blocks from
/// kLanes units, those of the same lines one after the other.
template <class V, int N>
struct Lines {
  static constexpr int kLanes = V::kLanes, kParts = kLineBlocks / kLanes, kSquares = N * kParts;

  V block[kLineBlocks][N];

  [[gnu::always_inline]] void read_square(const Units<V, N>& units, size_t offset, int square) noexcept {
    const int vector = square / kParts, part = square % kParts;
    const auto from = [&](int j) { return units.in[vector * kLanes + j] + offset + part * sizeof(V); };
    if constexpr (kCopiedLanes<V>) {
      repeat<kLanes>([&](auto j) {
        repeat<kLanes>([&](auto i) {
          Byte* const lanes = reinterpret_cast<Byte*>(&block[part * kLanes + i][vector]);
          memcpy(lanes + kBlockBytes * j, from(j) + kBlockBytes * i, kBlockBytes);
        });
      });
    } else {
      V x[kLanes];
      repeat<kLanes>([&](auto j) { x[j] = V::load(from(j)); });
      V::transpose(x);
      repeat<kLanes>([&](auto j) { block[part * kLanes + j][vector] = x[j]; });
    }
  }

  [[gnu::always_inline]] void write_square(const Units<V, N>& units, size_t offset, int square) const noexcept {
    const int vector = square / kParts, part = square % kParts;
    V x[kLanes];
    repeat<kLanes>([&](auto j) { x[j] = block[part * kLanes + j][vector]; });
    V::transpose(x);
    repeat<kLanes>([&](auto j) { x[j].store(units.out[vector * kLanes + j] + offset + part * sizeof(V)); });
  }
};

/// While one line of each unit is encrypted, the line before is written and the next one read between the rounds,
/// evenly spread: both come from the second-level cache, where sixteen sectors share a set of eight ways. Written all
/// at once behind its rounds, a line of sectors of 4096 bytes costs a third more (Zen 3). Returns how many bytes of
/// each unit were done.
template <class V, Chaining kChaining, int N>
[[gnu::always_inline]] inline size_t chain_lines(const RoundKeys<Direction::encrypt>& keys, const Units<V, N>& units,
                                                 size_t unit, V* chained) noexcept {
  constexpr int kSquares = Lines<V, N>::kSquares, kPerBlock = (kSquares + kLineBlocks - 1) / kLineBlocks;
  constexpr int kEvery = RoundKeys<Direction::encrypt>::kPlaces / kPerBlock;
  const size_t bytes = unit / kLineBytes * kLineBytes;
  if (bytes == 0) return 0;
  V state[N];
  repeat<N>([&](auto i) { state[i] = chained[i]; });
  Lines<V, N> both[2], *now = &both[0], *other = &both[1];
  repeat<kSquares>([&](auto i) { now->read_square(units, 0, i); });
  for (size_t offset = 0; offset < bytes; offset += kLineBytes) {
    const size_t ahead = offset + kLineBytes < bytes ? offset + kLineBytes : offset;
    repeat<kLineBlocks>([&](auto j) {
      chain_blocks<kChaining, N>(keys, state, now->block[j], [&](auto r) {
        constexpr int kSquare = j * kPerBlock + r / kEvery;
        if constexpr (r % kEvery == 0 && r / kEvery < kPerBlock && kSquare < kSquares) {
          if (offset > 0) other->write_square(units, offset - kLineBytes, kSquare);
          other->read_square(units, ahead, kSquare);
        }
      });
    });
    Lines<V, N>* const done = now;
    now = other, other = done;
  }
  repeat<kSquares>([&](auto i) { other->write_square(units, bytes - kLineBytes, i); });
  repeat<N>([&](auto i) { chained[i] = state[i]; });
  return bytes;
}

template <class V, Chaining kChaining, int N>
[[gnu::always_inline]] inline void chain_units(const RoundKeys<Direction::encrypt>& keys, const Run& run,
                                               size_t first) noexcept {
  constexpr int kLanes = V::kLanes;
  const Units<V, N> units(run, first);
  V state[N];
  repeat<N>([&](auto i) { state[i] = load_lanes<V>(units.iv + i * kLanes, 0); });
  size_t offset = chain_lines<V, kChaining, N>(keys, units, run.unit, state);
  for (; offset < run.unit; offset += kBlockBytes) {
    V data[N];
    repeat<N>([&](auto i) { data[i] = load_lanes<V>(units.in + i * kLanes, offset); });
    chain_blocks<kChaining, N>(keys, state, data, [](auto) {});
    repeat<N>([&](auto i) { store_lanes(data[i], units.out + i * kLanes, offset); });
  }
  repeat<N>([&](auto i) { store_lanes(state[i], units.iv + i * kLanes, 0); });
}

template <class V, Chaining kChaining>
[[gnu::flatten]] void chain(const Key& key, const Run& run) noexcept {
  const RoundKeys<Direction::encrypt> keys(key);
  constexpr size_t kUnits = V::kChains * V::kLanes;
  size_t unit = 0;
  for (; run.count - unit > kUnits / 2; unit = run.count - unit < kUnits ? run.count : unit + kUnits) {
    chain_units<V, kChaining, V::kChains>(keys, run, unit);
  }
  if (run.count - unit > V::kLanes) {  // idle lanes would move data for nothing
    chain_units<V, kChaining, V::kChains / 2>(keys, run, unit);
  } else if (unit < run.count) {
    chain_units<V, kChaining, 1>(keys, run, unit);
  }
}

}  // namespace
}  // namespace nbdcrypt::aes
