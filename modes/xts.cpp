// SPDX-License-Identifier: Apache-2.0
//
// XTS over whole blocks: IEEE 1619-2018, 5.3 and 5.4 (no ciphertext stealing: sectors are multiples of 16 bytes).
// C_j = E(P_j ^ T_j) ^ T_j, T_{j+1} = T_j * x in GF(2^128), x^128 = x^7 + x^2 + x + 1, bytes little-endian.
// The first tweak of each unit comes encrypted in `iv`.
#include "modes/generic_modes.h"
#include "modes/walk.h"

namespace nbdcrypt::modes::generic {
namespace {

/// tweak * x, in constant time.
Block double_tweak(Block tweak) noexcept {
  const std::uint64_t low = little_endian(tweak.word[0]);
  const std::uint64_t high = little_endian(tweak.word[1]);
  return {{little_endian((low << 1) ^ (0x87 & (0 - (high >> 63)))), little_endian((high << 1) | (low >> 63))}};
}

template <std::size_t kBlocks>
std::size_t run(aes::Blocks crypt, const aes::Key& key, const aes::Run& batch) noexcept {
  return walk_parallel<kBlocks>(
      batch, [](Block tweak, const Byte*) { return double_tweak(tweak); },
      [&](Byte* tweaks, const Byte* in, Byte* out, std::size_t blocks) {
        xor_blocks(out, in, tweaks, blocks);
        crypt(key, out, out, blocks);
        xor_blocks(out, out, tweaks, blocks);
      });
}

template <std::size_t kBlocks>
std::size_t encrypt(const aes::Backend& backend, const aes::Key& key, const aes::Run& batch) noexcept {
  return run<kBlocks>(backend.encrypt, key, batch);
}

template <std::size_t kBlocks>
std::size_t decrypt(const aes::Backend& backend, const aes::Key& key, const aes::Run& batch) noexcept {
  return run<kBlocks>(backend.decrypt, key, batch);
}

}  // namespace

constinit const Forms xts_encrypt{.single = encrypt<1>, .batched = encrypt<kBlocksPerCall>};
constinit const Forms xts_decrypt{.single = decrypt<1>, .batched = decrypt<kBlocksPerCall>};

}  // namespace nbdcrypt::modes::generic
