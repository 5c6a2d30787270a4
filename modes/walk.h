// SPDX-License-Identifier: Apache-2.0
//
// The two shapes that all chaining modes have. In a parallel mode, what masks a block is known before any block of the
// unit is encrypted (XTS, CTR, and decryption of CBC and CFB): blocks go to the backend in their order, across units.
// In a serial mode each block needs the one before (CBC and CFB encryption, OFB): there the same block of several
// units goes to the backend at once. Both walk in order, so that `out` may equal `in`.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "aes/backend.h"

namespace nbdcrypt::modes::generic {

using aes::Byte;
using aes::kBlockBytes;

/// A block in two registers, bytes in memory order.
struct Block {
  std::uint64_t word[2];
};

inline Block load_block(const Byte* from) noexcept {
  Block block;
  std::memcpy(&block, from, sizeof block);
  return block;
}

/// In one store where the processor has one: what loads the whole block next would have to wait for two halves to leave
/// the store buffer (XTS at a block a call with AES-NI is then four times as slow, Zen 3).
inline void store_block(Byte* to, Block block) noexcept {
  using Vector [[gnu::vector_size(kBlockBytes)]] = std::uint64_t;
  const Vector whole = {block.word[0], block.word[1]};
  std::memcpy(to, &whole, sizeof whole);
}

/// A word of a block as a number in that byte order, and back.
constexpr std::uint64_t little_endian(std::uint64_t word) noexcept {
  return std::endian::native == std::endian::little ? word : __builtin_bswap64(word);
}
constexpr std::uint64_t big_endian(std::uint64_t word) noexcept {
  return std::endian::native == std::endian::big ? word : __builtin_bswap64(word);
}

inline Block operator^(Block a, Block b) noexcept { return {{a.word[0] ^ b.word[0], a.word[1] ^ b.word[1]}}; }

/// to[blocks * 16] = a ^ b. Any alignment; `to` may equal a or b.
inline void xor_blocks(Byte* to, const Byte* a, const Byte* b, std::size_t blocks) noexcept {
  for (std::size_t at = 0; at < blocks * kBlockBytes; at += kBlockBytes) {
    store_block(to + at, load_block(a + at) ^ load_block(b + at));
  }
}

/// The next counter, all 128 bits counting (SP 800-38A, B.1).
inline Block next_counter(Block counter) noexcept {
  const std::uint64_t low = big_endian(counter.word[1]) + 1;
  const std::uint64_t high = big_endian(counter.word[0]) + (low == 0);
  return {{big_endian(high), big_endian(low)}};
}

/// Takes the blocks of a batch at most kBlocks at a time.
///   next(mask, in): the mask of the block behind in[16], whose own mask is `mask`.
///   crypt(masks, in, out, blocks): the cipher and the masks of `blocks` blocks; one call of the backend. May use masks
///   as scratch.
/// Returns the number of calls. The masks of the blocks behind the units are left in batch.iv.
template <std::size_t kBlocks, class Next, class Crypt>
std::size_t walk_parallel(const aes::Run& batch, Next next, Crypt crypt) noexcept {
  alignas(64) Byte masks[kBlocks * kBlockBytes];
  const Byte* in = batch.in;  // of the first block that masks holds
  Byte* out = batch.out;
  std::size_t filled = 0, calls = 0;
  const auto flush = [&] {
    if (filled == 0) return;
    crypt(masks, in, out, filled);
    in += filled * kBlockBytes;
    out += filled * kBlockBytes;
    filled = 0;
    ++calls;
  };
  for (std::size_t unit = 0; unit < batch.count; ++unit) {
    Byte* const iv = batch.iv + unit * kBlockBytes;
    Block mask = load_block(iv);
    for (std::size_t at = 0; at < batch.unit; at += kBlockBytes) {
      store_block(masks + filled * kBlockBytes, mask);
      mask = next(mask, in + filled * kBlockBytes);
      if (++filled == kBlocks) flush();
    }
    store_block(iv, mask);
  }
  flush();
  return calls;
}

/// What a block of a serial mode gives.
struct Step {
  Block out, state;
};

/// Takes block after block of at most kUnits units side by side.
///   before(state, in): what goes into the cipher, from the chain's state and the plaintext block.
///   after(state, in): the block that comes out and the new state, from the cipher's output and the plaintext block.
/// Returns the number of calls of `encrypt`. The states behind the units are left in batch.iv.
template <std::size_t kUnits, class Before, class After>
std::size_t walk_serial(aes::Blocks encrypt, const aes::Key& key, const aes::Run& batch, Before before,
                        After after) noexcept {
  alignas(64) Byte state[kUnits * kBlockBytes];
  std::size_t calls = 0;
  for (std::size_t first = 0; first < batch.count; first += kUnits) {
    const std::size_t units = std::min(kUnits, batch.count - first);
    Byte* const iv = batch.iv + first * kBlockBytes;
    std::memcpy(state, iv, units * kBlockBytes);
    for (std::size_t at = 0; at < batch.unit; at += kBlockBytes, ++calls) {
      const Byte* const in = batch.in + first * batch.unit + at;
      Byte* const out = batch.out + first * batch.unit + at;
      for (std::size_t i = 0; i < units; ++i) {
        Byte* const chain = state + i * kBlockBytes;
        store_block(chain, before(load_block(chain), load_block(in + i * batch.unit)));
      }
      encrypt(key, state, state, units);
      for (std::size_t i = 0; i < units; ++i) {
        Byte* const chain = state + i * kBlockBytes;
        const Step step = after(load_block(chain), load_block(in + i * batch.unit));
        store_block(out + i * batch.unit, step.out);
        store_block(chain, step.state);
      }
    }
    std::memcpy(iv, state, units * kBlockBytes);
  }
  return calls;
}

}  // namespace nbdcrypt::modes::generic
