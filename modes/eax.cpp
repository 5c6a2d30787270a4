// SPDX-License-Identifier: Apache-2.0
//
// EAX: M. Bellare, P. Rogaway, D. Wagner, "The EAX Mode of Operation" (FSE 2004), figure 3. With OMAC^t the CBC-MAC
// that ends in a masked block: N = OMAC^0(nonce), C = CTR(N, P), T = N ^ OMAC^1(A) ^ OMAC^2(C).
#include <algorithm>
#include <cstring>

#include "modes/aead_modes.h"
#include "modes/gf128.h"
#include "modes/walk.h"

namespace nbdcrypt::modes {
namespace {

using aes::kBlockBytes;

}  // namespace

Eax::Eax(const aes::Backend& backend, std::span<const Byte> key, Offload offload) noexcept
    : AeadCipher(backend, key, offload) {
  for (Byte t = 0; t < 3; ++t) {
    started_[t][kBlockBytes - 1] = t;
    encrypt_blocks(started_[t], started_[t], 1);
  }
  times_x_be(started_[0], b_);  // L = E(0)
  times_x_be(b_, p_);
}

void Eax::omac_last(Byte state[16], std::span<const Byte> last) const noexcept {
  Byte block[kBlockBytes] = {};
  std::copy(last.begin(), last.end(), block);
  if (last.size() < kBlockBytes) block[last.size()] = 0x80;
  generic::xor_blocks(block, block, last.size() < kBlockBytes ? p_ : b_, 1);
  mac(state, block, 1);
}

void Eax::omac(Byte t, std::span<const Byte> in, Byte result[16]) const noexcept {
  if (in.empty()) {  // the block of t is the last
    std::memset(result, 0, kBlockBytes);
    Byte block[kBlockBytes] = {};
    block[kBlockBytes - 1] = t;
    return omac_last(result, block);
  }
  std::memcpy(result, started_[t], kBlockBytes);
  const std::size_t body = (in.size() - 1) / kBlockBytes;
  mac(result, in.data(), body);
  omac_last(result, in.subspan(body * kBlockBytes));
}

void Eax::crypt(bool encrypt, const AeadText& text, std::size_t, Byte tag[16]) const noexcept {
  Byte nonce[kBlockBytes], header[kBlockBytes], state[kBlockBytes], counter[kBlockBytes];
  omac(0, text.nonce, nonce);
  omac(1, text.ad, header);
  if (text.in.empty()) {
    omac(2, {}, state);
  } else {
    std::memcpy(state, started_[2], kBlockBytes);
    std::memcpy(counter, nonce, kBlockBytes);
    const std::size_t body = (text.in.size() - 1) / kBlockBytes * kBlockBytes;
    ctr_mac(encrypt ? MacOf::out : MacOf::in, counter, state, text.in.first(body), text.out);
    const std::span<const Byte> last = text.in.subspan(body);
    if (!encrypt) omac_last(state, last);
    ctr_tail(counter, last, text.out + body);
    if (encrypt) omac_last(state, {text.out + body, last.size()});
  }
  generic::xor_blocks(tag, nonce, header, 1);
  generic::xor_blocks(tag, tag, state, 1);
}

}  // namespace nbdcrypt::modes
