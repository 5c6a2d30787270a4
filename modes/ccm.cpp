// SPDX-License-Identifier: Apache-2.0
//
// Counter with CBC-MAC: NIST SP 800-38C with the formatting of its appendix A (RFC 3610): the MAC is of a block with
// flags, nonce and length, the encoded associated data and the plaintext.
#include <algorithm>
#include <cstring>

#include "base/bytes.h"
#include "modes/aead_modes.h"
#include "modes/walk.h"

namespace nbdcrypt::modes {
namespace {

using aes::kBlockBytes;

/// SP 800-38C, A.2.2. Returns how many bytes it takes.
std::size_t encode_length(std::uint64_t bytes, Byte* to) noexcept {
  if (bytes < 0xff00) {
    base::store_be(to, static_cast<std::uint16_t>(bytes));
    return 2;
  }
  const bool wide = bytes >> 32 != 0;
  to[0] = 0xff;
  to[1] = wide ? 0xff : 0xfe;
  if (wide) {
    base::store_be(to + 2, bytes);
  } else {
    base::store_be(to + 2, static_cast<std::uint32_t>(bytes));
  }
  return wide ? 10 : 6;
}

/// The first block (A.2.1), or with flags 0 and length 0 the first counter (A.3).
void format_block(Byte flags, std::span<const Byte> nonce, std::uint64_t length, Byte block[16]) noexcept {
  const std::size_t length_bytes = 15 - nonce.size();
  block[0] = static_cast<Byte>(flags | (length_bytes - 1));
  std::copy(nonce.begin(), nonce.end(), block + 1);
  for (std::size_t i = 0; i < length_bytes; ++i) {
    block[15 - i] = i < 8 ? static_cast<Byte>(length >> (8 * i)) : Byte{0};
  }
}

}  // namespace

void Ccm::mac_ad(Byte state[16], std::span<const Byte> ad) const noexcept {
  if (ad.empty()) return;
  Byte block[kBlockBytes] = {};
  const std::size_t encoded = encode_length(ad.size(), block), head = std::min(kBlockBytes - encoded, ad.size());
  std::copy_n(ad.begin(), head, block + encoded);
  mac(state, block, 1);
  ad = ad.subspan(head);
  mac(state, ad.data(), ad.size() / kBlockBytes);
  const std::span<const Byte> tail = ad.last(ad.size() % kBlockBytes);
  if (tail.empty()) return;
  std::memset(block, 0, sizeof block);
  std::copy(tail.begin(), tail.end(), block);
  mac(state, block, 1);
}

void Ccm::crypt(bool encrypt, const AeadText& text, std::size_t tag_bytes, Byte tag[16]) const noexcept {
  Byte counter[kBlockBytes], state[kBlockBytes] = {}, block[kBlockBytes], mask[kBlockBytes];
  const unsigned flags = (text.ad.empty() ? 0 : 0x40) | static_cast<unsigned>(tag_bytes - 2) / 2 << 3;
  format_block(static_cast<Byte>(flags), text.nonce, text.in.size(), block);
  mac(state, block, 1);
  mac_ad(state, text.ad);
  format_block(0, text.nonce, 0, counter);
  encrypt_blocks(counter, mask, 1);
  generic::store_block(counter, generic::next_counter(generic::load_block(counter)));
  // Plaintext is what goes in or what comes out; its last bytes are saved before they are overwritten in place.
  const std::size_t tail = text.in.size() % kBlockBytes, whole = text.in.size() - tail;
  std::memset(block, 0, sizeof block);
  if (encrypt) std::copy_n(text.in.data() + whole, tail, block);
  ctr_mac(encrypt ? MacOf::in : MacOf::out, counter, state, text.in, text.out);
  if (!encrypt) std::copy_n(text.out + whole, tail, block);
  if (tail > 0) mac(state, block, 1);
  generic::xor_blocks(tag, state, mask, 1);
}

}  // namespace nbdcrypt::modes
