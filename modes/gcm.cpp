// SPDX-License-Identifier: Apache-2.0
//
// Galois/counter mode: NIST SP 800-38D. C = CTR32(J_0 + 1, P), T = E(J_0) ^ GHASH(A, C, lengths).
#include <algorithm>
#include <cstring>

#include "base/bytes.h"
#include "modes/aead_modes.h"
#include "modes/ghash.h"
#include "modes/walk.h"

namespace nbdcrypt::modes {
namespace {

using aes::kBlockBytes;

/// Where no kernel does both: so many blocks are encrypted, then hashed out of the first-level cache.
constexpr std::size_t kBlocksAtOnce = 256;

}  // namespace

Gcm::Gcm(const aes::Backend& backend, std::span<const Byte> key, Offload offload) noexcept
    : AeadCipher(backend, key, offload),
      ctr32_(backend, aes::ctr32, offload),
      ghash_(offload != Offload::off && backend.ghash ? backend.ghash : generic::ghash) {
  encrypt_blocks(h_, h_, 1);
  if (fused_->gcm_prepare) fused_->gcm_prepare(hash_key_, h_);
}

void Gcm::hash(Byte state[16], const Byte* in, std::size_t blocks) const noexcept {
  if (blocks == 0) return;
  if (!fused_->gcm_hash) return ghash_(state, h_, in, blocks);
  count_fused();
  fused_->gcm_hash(hash_key_, state, in, blocks);
}

void Gcm::hash_padded(Byte state[16], std::span<const Byte> in) const noexcept {
  const std::size_t whole = in.size() - in.size() % kBlockBytes;
  hash(state, in.data(), whole / kBlockBytes);
  if (whole == in.size()) return;
  Byte last[kBlockBytes] = {};
  std::copy(in.begin() + static_cast<std::ptrdiff_t>(whole), in.end(), last);
  hash(state, last, 1);
}

void Gcm::first_counter(std::span<const Byte> nonce, Byte counter[16]) const noexcept {
  std::memset(counter, 0, kBlockBytes);
  if (nonce.size() == 12) {
    std::copy(nonce.begin(), nonce.end(), counter);
    counter[15] = 1;
    return;
  }
  hash_padded(counter, nonce);
  Byte lengths[kBlockBytes] = {};
  base::store_be(lengths + 8, static_cast<std::uint64_t>(nonce.size()) * 8);
  hash(counter, lengths, 1);
}

void Gcm::crypt_blocks(bool encrypt, const aes::GcmRun& all) const noexcept {
  if (all.blocks == 0) return;
  const auto kernel = encrypt ? fused_->gcm_encrypt : fused_->gcm_decrypt;
  if (kernel) {
    count_fused();
    return kernel(key_, hash_key_, all);
  }
  for (std::size_t done = 0; done < all.blocks; done += kBlocksAtOnce) {
    const std::size_t blocks = std::min(kBlocksAtOnce, all.blocks - done);
    const Byte* const in = all.in + done * kBlockBytes;
    Byte* const out = all.out + done * kBlockBytes;
    if (!encrypt) hash(all.state, in, blocks);
    run(ctr32_, in, out, all.counter, blocks);
    if (encrypt) hash(all.state, out, blocks);
  }
}

void Gcm::crypt(bool encrypt, const AeadText& text, std::size_t, Byte tag[16]) const noexcept {
  Byte first[2 * kBlockBytes], state[kBlockBytes] = {};  // J_0 and the counter of the last, partial block
  first_counter(text.nonce, first);
  Byte* const counter = first + kBlockBytes;
  std::memcpy(counter, first, kBlockBytes);
  base::store_be(counter + 12, base::load_be<std::uint32_t>(counter + 12) + 1);
  hash_padded(state, text.ad);
  const std::size_t blocks = text.in.size() / kBlockBytes, whole = blocks * kBlockBytes;
  crypt_blocks(encrypt, {.in = text.in.data(), .out = text.out, .counter = counter, .state = state, .blocks = blocks});
  encrypt_blocks(first, first, 2);
  Byte last[2 * kBlockBytes] = {};  // the partial block of ciphertext, and the lengths
  const std::size_t tail = text.in.size() - whole;
  if (!encrypt) std::copy_n(text.in.data() + whole, tail, last);
  for (std::size_t i = 0; i < tail; ++i) text.out[whole + i] = text.in[whole + i] ^ first[kBlockBytes + i];
  if (encrypt) std::copy_n(text.out + whole, tail, last);
  base::store_be(last + kBlockBytes, static_cast<std::uint64_t>(text.ad.size()) * 8);
  base::store_be(last + kBlockBytes + 8, static_cast<std::uint64_t>(text.in.size()) * 8);
  hash(state, tail > 0 ? last : last + kBlockBytes, tail > 0 ? 2 : 1);
  generic::xor_blocks(tag, state, first, 1);
}

}  // namespace nbdcrypt::modes
