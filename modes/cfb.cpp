// SPDX-License-Identifier: Apache-2.0
//
// Cipher feedback with 128-bit segments: NIST SP 800-38A, 6.3.
// Encryption is serial in a unit: C_j = P_j ^ E(C_{j-1}). Decryption knows every C_{j-1} beforehand.
#include "modes/generic_modes.h"
#include "modes/walk.h"

namespace nbdcrypt::modes::generic {
namespace {

template <std::size_t kUnits>
std::size_t encrypt(const aes::Backend& backend, const aes::Key& key, const aes::Run& batch) noexcept {
  return walk_serial<kUnits>(
      backend.encrypt, key, batch, [](Block state, Block) { return state; },
      [](Block cipher, Block in) { return Step{.out = cipher ^ in, .state = cipher ^ in}; });
}

template <std::size_t kBlocks>
std::size_t decrypt(const aes::Backend& backend, const aes::Key& key, const aes::Run& batch) noexcept {
  return walk_parallel<kBlocks>(
      batch, [](Block, const Byte* in) { return load_block(in); },
      [&](Byte* masks, const Byte* in, Byte* out, std::size_t blocks) {
        backend.encrypt(key, masks, masks, blocks);
        xor_blocks(out, in, masks, blocks);
      });
}

}  // namespace

constinit const Forms cfb_encrypt{.single = encrypt<1>, .batched = encrypt<kUnitsPerCall>};
constinit const Forms cfb_decrypt{.single = decrypt<1>, .batched = decrypt<kBlocksPerCall>};

}  // namespace nbdcrypt::modes::generic
