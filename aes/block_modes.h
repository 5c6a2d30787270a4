// SPDX-License-Identifier: Apache-2.0
//
// All kernels of a backend whose cipher is a class of its own: for ciphers that cost so much a block that what happens
// between blocks is small beside it, so one plain walk serves all shapes of batches. Cipher<kInverse> is built from a
// Key once a call and has
//   Block                 16 bytes in registers: load(p), store(p), a ^ b, times_x() (IEEE 1619-2018, 5.2), and
//                         count_up<kBits>(), the next counter: kBits at the end count, big-endian, the others stay
//   kWide                 how many blocks it takes at a time
//   crypt<N>(Block* x)    the cipher, or with kInverse the inverse cipher, on x[N]; N is 1 or kWide
// Everything lies in an anonymous namespace and is inlined, as in vector_rounds.h.
#pragma once

#include <string.h>
#include <bit>

#include "aes/cursor.h"

namespace nbdcrypt::aes {
namespace {

// The modes whose blocks do not wait for each other. The slot of a unit in `iv` always holds the mask of the next
// block.
//   next(mask, in): the mask of the block behind `in`
//   apply(cipher, x, mask): x[N] becomes the output

template <template <bool> class C, bool kInverse>
struct XtsMode {
  using Cipher = C<kInverse>;
  using Block = typename Cipher::Block;

  static Block next(Block mask, Block) noexcept { return mask.times_x(); }
  template <size_t N>
  static void apply(const Cipher& cipher, Block* x, Block* mask) noexcept {
    for (size_t i = 0; i < N; i++) x[i] = x[i] ^ mask[i];
    cipher.template crypt<N>(x);
    for (size_t i = 0; i < N; i++) x[i] = x[i] ^ mask[i];
  }
};

template <template <bool> class C>
struct CbcDecryptMode {
  using Cipher = C<true>;
  using Block = typename Cipher::Block;

  static Block next(Block, Block in) noexcept { return in; }
  template <size_t N>
  static void apply(const Cipher& cipher, Block* x, Block* mask) noexcept {
    cipher.template crypt<N>(x);
    for (size_t i = 0; i < N; i++) x[i] = x[i] ^ mask[i];
  }
};

/// Modes whose masks go through the cipher.
template <template <bool> class C>
struct KeystreamMode {
  using Cipher = C<false>;
  using Block = typename Cipher::Block;

  template <size_t N>
  static void apply(const Cipher& cipher, Block* x, Block* mask) noexcept {
    cipher.template crypt<N>(mask);
    for (size_t i = 0; i < N; i++) x[i] = x[i] ^ mask[i];
  }
};

template <template <bool> class C>
struct CfbDecryptMode : KeystreamMode<C> {
  using Block = typename KeystreamMode<C>::Block;
  static Block next(Block, Block in) noexcept { return in; }
};

template <template <bool> class C, int kCounterBits>
struct CtrMode : KeystreamMode<C> {
  using Block = typename KeystreamMode<C>::Block;
  static Block next(Block counter, Block) noexcept { return counter.template count_up<kCounterBits>(); }
};

/// N blocks, whatever units they belong to.
template <size_t N, class Mode>
[[gnu::always_inline]] inline void parallel_group(const typename Mode::Cipher& cipher, Cursor& at) noexcept {
  using Block = typename Mode::Block;
  Byte* const out = at.out;
  Block x[N], mask[N];
  for (size_t i = 0; i < N; i++) {
    mask[i] = Block::load(at.iv), x[i] = Block::load(at.in);
    Mode::next(mask[i], x[i]).store(at.iv);
    at.advance(kBlockBytes);
  }
  Mode::template apply<N>(cipher, x, mask);
  for (size_t i = 0; i < N; i++) x[i].store(out + kBlockBytes * i);
}

/// One block after the other to the end of the batch; the mask stays in registers.
template <class Mode>
[[gnu::always_inline]] inline void parallel_singles(const typename Mode::Cipher& cipher, Cursor& at) noexcept {
  using Block = typename Mode::Block;
  while (at.left > 0) {
    Byte* const iv = at.iv;
    Block next = Block::load(iv);
    do {
      Block x = Block::load(at.in), mask = next;
      next = Mode::next(mask, x);
      Mode::template apply<1>(cipher, &x, &mask);
      x.store(at.out);
      at.advance(kBlockBytes);
    } while (at.iv == iv);
    next.store(iv);
  }
}

template <class Mode>
[[gnu::flatten]] void parallel(const Key& key, const Run& run) noexcept {
  using Cipher = typename Mode::Cipher;
  const Cipher cipher(key);
  Cursor at(run);
  if constexpr (Cipher::kWide > 1) {
    while (at.left >= kBlockBytes * Cipher::kWide) parallel_group<Cipher::kWide, Mode>(cipher, at);
  }
  parallel_singles<Mode>(cipher, at);
}

enum class Serial { cbc, cfb, ofb };

/// N units side by side from unit `first` on. Lanes beyond the last unit repeat it: they read the same bytes before any
/// is written, and write the same result.
template <size_t N, Serial kMode, class Cipher>
[[gnu::always_inline]] inline void serial_group(const Cipher& cipher, const Run& run, size_t first) noexcept {
  using Block = typename Cipher::Block;
  size_t lane[N];
  Block state[N], x[N];
  for (size_t i = 0; i < N; i++) {
    lane[i] = N == 1 || first + i < run.count ? first + i : run.count - 1;
    state[i] = Block::load(run.iv + kBlockBytes * lane[i]);
    lane[i] *= run.unit;
  }
  for (size_t at = 0; at < run.unit; at += kBlockBytes) {
    for (size_t i = 0; i < N; i++) {
      x[i] = Block::load(run.in + lane[i] + at);
      if constexpr (kMode == Serial::cbc) state[i] = state[i] ^ x[i];
    }
    cipher.template crypt<N>(state);
    for (size_t i = 0; i < N; i++) {
      if constexpr (kMode == Serial::cfb) state[i] = state[i] ^ x[i];
      const Block out = kMode == Serial::ofb ? state[i] ^ x[i] : state[i];
      out.store(run.out + lane[i] + at);
    }
  }
  for (size_t i = 0; i < N; i++) state[i].store(run.iv + lane[i] / run.unit * kBlockBytes);
}

template <class Cipher, Serial kMode>
[[gnu::flatten]] void serial(const Key& key, const Run& run) noexcept {
  const Cipher cipher(key);
  size_t unit = 0;
  if constexpr (Cipher::kWide > 1) {
    for (; unit + 1 < run.count; unit += Cipher::kWide) serial_group<Cipher::kWide, kMode>(cipher, run, unit);
  }
  for (; unit < run.count; unit++) serial_group<1, kMode>(cipher, run, unit);
}

/// Blocks: ECB over any number of blocks.
template <class Cipher>
[[gnu::flatten]] void ecb_blocks(const Key& key, const Byte* in, Byte* out, size_t blocks) noexcept {
  using Block = typename Cipher::Block;
  const Cipher cipher(key);
  const auto group = [&]<size_t N>() {
    Block x[N];
    for (size_t i = 0; i < N; i++) x[i] = Block::load(in + kBlockBytes * i);
    cipher.template crypt<N>(x);
    for (size_t i = 0; i < N; i++) x[i].store(out + kBlockBytes * i);
    in += kBlockBytes * N, out += kBlockBytes * N, blocks -= N;
  };
  while (blocks >= Cipher::kWide) group.template operator()<Cipher::kWide>();
  if constexpr (Cipher::kWide > 1) {
    while (blocks > 0) group.template operator()<1>();
  }
}

template <class Cipher>
void ecb(const Key& key, const Run& run) noexcept {
  ecb_blocks<Cipher>(key, run.in, run.out, run.unit / kBlockBytes * run.count);
}

template <template <bool> class C>
constexpr Offload block_offload() noexcept {
  Offload table;
  table.of[ecb_enc] = ecb<C<false>>;
  table.of[ecb_dec] = ecb<C<true>>;
  table.of[cbc_enc] = serial<C<false>, Serial::cbc>;
  table.of[cbc_dec] = parallel<CbcDecryptMode<C>>;
  table.of[cfb_enc] = serial<C<false>, Serial::cfb>;
  table.of[cfb_dec] = parallel<CfbDecryptMode<C>>;
  table.of[ofb] = serial<C<false>, Serial::ofb>;
  table.of[ctr] = parallel<CtrMode<C, 128>>;
  table.of[ctr32] = parallel<CtrMode<C, 32>>;
  table.of[xts_enc] = parallel<XtsMode<C, false>>;
  table.of[xts_dec] = parallel<XtsMode<C, true>>;
  return table;
}

}  // namespace
}  // namespace nbdcrypt::aes
