// SPDX-License-Identifier: Apache-2.0
//
// Cipher block chaining: NIST SP 800-38A, 6.2.
// Encryption is serial in a unit: C_j = E(P_j ^ C_{j-1}). Decryption is not: P_j = D(C_j) ^ C_{j-1}.
#include "modes/generic_modes.h"
#include "modes/walk.h"

namespace nbdcrypt::modes::generic {
namespace {

template <std::size_t kUnits>
std::size_t encrypt(const aes::Backend& backend, const aes::Key& key, const aes::Run& batch) noexcept {
  return walk_serial<kUnits>(
      backend.encrypt, key, batch, [](Block state, Block in) { return state ^ in; },
      [](Block cipher, Block) { return Step{.out = cipher, .state = cipher}; });
}

template <std::size_t kBlocks>
std::size_t decrypt(const aes::Backend& backend, const aes::Key& key, const aes::Run& batch) noexcept {
  return walk_parallel<kBlocks>(
      batch, [](Block, const Byte* in) { return load_block(in); },
      [&](Byte* masks, const Byte* in, Byte* out, std::size_t blocks) {
        backend.decrypt(key, in, out, blocks);
        xor_blocks(out, out, masks, blocks);
      });
}

}  // namespace

constinit const Forms cbc_encrypt{.single = encrypt<1>, .batched = encrypt<kUnitsPerCall>};
constinit const Forms cbc_decrypt{.single = decrypt<1>, .batched = decrypt<kBlocksPerCall>};

}  // namespace nbdcrypt::modes::generic
