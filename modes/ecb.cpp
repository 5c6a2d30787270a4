// SPDX-License-Identifier: Apache-2.0
//
// Electronic codebook: NIST SP 800-38A, 6.1.
#include "modes/generic_modes.h"

namespace nbdcrypt::modes::generic {
namespace {

/// All blocks in one call, or one a call. `batch.iv` is not looked at.
std::size_t run(aes::Blocks crypt, const aes::Key& key, const aes::Run& batch, bool single) noexcept {
  const std::size_t total = batch.count * (batch.unit / aes::kBlockBytes);
  const std::size_t blocks = single ? 1 : total;
  for (std::size_t at = 0; at < total; at += blocks) {
    crypt(key, batch.in + at * aes::kBlockBytes, batch.out + at * aes::kBlockBytes, blocks);
  }
  return single ? total : 1;
}

template <bool kSingle>
std::size_t encrypt(const aes::Backend& backend, const aes::Key& key, const aes::Run& batch) noexcept {
  return run(backend.encrypt, key, batch, kSingle);
}

template <bool kSingle>
std::size_t decrypt(const aes::Backend& backend, const aes::Key& key, const aes::Run& batch) noexcept {
  return run(backend.decrypt, key, batch, kSingle);
}

}  // namespace

constinit const Forms ecb_encrypt{.single = encrypt<true>, .batched = encrypt<false>};
constinit const Forms ecb_decrypt{.single = decrypt<true>, .batched = decrypt<false>};

}  // namespace nbdcrypt::modes::generic
