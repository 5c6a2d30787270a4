// SPDX-License-Identifier: Apache-2.0
//
// AES for any processor: bit-sliced, constant time, no tables; the layouts and the operations of a round are in
// bitslice.h. A call converts the round keys to the layout that it uses, once: about a fifth of the work on 32 blocks,
// so callers do well to pass 128 or more at a time.
#include "aes/bitslice.h"
#include "aes/key_schedule.h"

namespace nbdcrypt::aes {

extern constinit const Backend generic;

namespace {

/// Two lanes. GCC makes them a vector register where the target has one, and pairs of words elsewhere.
using Pair [[gnu::vector_size(16)]] = Word;

/// Round keys in the layout of State; wiped when they go out of scope.
template <class State>
struct Schedule {
  /// The S-box circuits leave out the constant of the affine map. MixColumns and ShiftRows map a state full of one byte
  /// to itself, so it can be added to the round key behind the forward box, or before the inverse one.
  template <bool kInverse>
  void load(const Key& key) noexcept {
    const Byte* const from = kInverse ? key.dec : key.enc;
    for (uint32_t r = 0; r <= key.rounds; r++) {
      const bool constant = kInverse ? r < key.rounds : r > 0;
      round[r].load_key(from + kBlockBytes * r, constant ? 0x63 : 0);
    }
  }

  ~Schedule() {
    memset(round, 0, sizeof round);
    asm volatile("" : : "r"(round) : "memory");  // so that the compiler keeps the memset
  }

  State round[15];
};

/// The cipher (FIPS 197, 5.1) or the equivalent inverse cipher (5.3.5) on State::kBlocks blocks.
template <class State, bool kInverse>
void crypt_state(const Schedule<State>& schedule, uint32_t rounds, const Byte* in, Byte* out) noexcept {
  State state;
  state.load(in);
  state.add(schedule.round[0]);
  for (uint32_t r = 1; r < rounds; r++) {
    state.template substitute_and_shift<kInverse>();
    if constexpr (kInverse) state.inv_mix_columns_add(schedule.round[r]);
    if constexpr (!kInverse) state.mix_columns_add(schedule.round[r]);
  }
  state.template substitute_and_shift<kInverse>();
  state.add(schedule.round[rounds]);
  state.store(out);
}

template <class State, bool kInverse>
void crypt(const Key& key, const Byte* in, Byte* out, size_t blocks) noexcept {
  Schedule<State> schedule;
  schedule.template load<kInverse>(key);
  constexpr size_t kBytes = kBlockBytes * State::kBlocks;
  for (; blocks >= State::kBlocks; blocks -= State::kBlocks, in += kBytes, out += kBytes) {
    crypt_state<State, kInverse>(schedule, key.rounds, in, out);
  }
  if (blocks == 0) return;
  Byte padded[kBytes] = {};
  memcpy(padded, in, kBlockBytes * blocks);
  crypt_state<State, kInverse>(schedule, key.rounds, padded, padded);
  memcpy(out, padded, kBlockBytes * blocks);
}

/// The widest layout for most of a batch, the cheapest for what is left.
template <bool kInverse>
void crypt_blocks(const Key& key, const Byte* in, Byte* out, size_t blocks) noexcept {
  const size_t rest = blocks % Rows<Pair>::kBlocks;
  const size_t wide = rest <= 3 * Packed::kBlocks ? blocks - rest : blocks;
  if (wide > 0) crypt<Rows<Pair>, kInverse>(key, in, out, wide);
  if (blocks > wide) crypt<Packed, kInverse>(key, in + kBlockBytes * wide, out + kBlockBytes * wide, blocks - wide);
}

}  // namespace

constinit const Backend generic{
    .name = "generic",
    .expand_key = expand_key,
    .encrypt = crypt_blocks<false>,
    .decrypt = crypt_blocks<true>,
    .stack_bytes = 24576,  // 32-bit x86 without vector registers
};

}  // namespace nbdcrypt::aes
