// SPDX-License-Identifier: Apache-2.0
//
// Counter mode: NIST SP 800-38A, 6.5. C_j = P_j ^ E(counter + j); the same in both directions.
// Two counting rules: all 128 bits, big-endian (SP 800-38A, B.1 with m = 128), or the last 32 bits alone (inc32 of
// SP 800-38D, 6.2, for GCM).
#include "modes/generic_modes.h"
#include "modes/walk.h"

namespace nbdcrypt::modes::generic {
namespace {

constexpr auto kCount128 = [](Block counter, const Byte*) noexcept { return next_counter(counter); };

constexpr auto kCount32 = [](Block counter, const Byte*) noexcept {
  const std::uint64_t low = big_endian(counter.word[1]);
  const std::uint64_t next = (low & 0xffffffff00000000) | static_cast<std::uint32_t>(low + 1);
  return Block{{counter.word[0], big_endian(next)}};
};

template <std::size_t kBlocks, auto kCount>
std::size_t run(const aes::Backend& backend, const aes::Key& key, const aes::Run& batch) noexcept {
  return walk_parallel<kBlocks>(batch, kCount, [&](Byte* masks, const Byte* in, Byte* out, std::size_t blocks) {
    backend.encrypt(key, masks, masks, blocks);
    xor_blocks(out, in, masks, blocks);
  });
}

}  // namespace

constinit const Forms ctr{.single = run<1, kCount128>, .batched = run<kBlocksPerCall, kCount128>};
constinit const Forms ctr32{.single = run<1, kCount32>, .batched = run<kBlocksPerCall, kCount32>};

}  // namespace nbdcrypt::modes::generic
