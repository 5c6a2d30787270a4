// SPDX-License-Identifier: Apache-2.0
//
// OCB3: RFC 7253. C_i = E(P_i ^ Offset_i) ^ Offset_i with Offset_i = Offset_{i-1} ^ L_{ntz(i)};
// T = E(P_1 ^ ... ^ P_m ^ Offset ^ L_$) ^ HASH(A).
#include <algorithm>
#include <bit>
#include <cstring>

#include "base/bytes.h"
#include "modes/aead_modes.h"
#include "modes/generic_modes.h"
#include "modes/gf128.h"
#include "modes/walk.h"

namespace nbdcrypt::modes {

using aes::kBlockBytes;
using generic::kBlocksPerCall;

Ocb::Ocb(const aes::Backend& backend, std::span<const Byte> key, Offload offload) noexcept
    : AeadCipher(backend, key, offload), blocks_a_call_(offload == Offload::off ? 1 : kBlocksPerCall) {
  encrypt_blocks(star_, star_, 1);
  times_x_be(star_, dollar_);
  const Byte* previous = dollar_;
  for (std::size_t i = 0; i < kLevels; ++i) {
    times_x_be(previous, l_ + i * kBlockBytes);
    previous = l_ + i * kBlockBytes;
  }
}

/// RFC 7253, 4.2, "Nonce-dependent and per-encryption variables". Which bits are taken depends on the nonce alone.
void Ocb::first_offset(std::span<const Byte> nonce, std::size_t tag_bytes, Byte offset[16]) const noexcept {
  Byte top[kBlockBytes] = {};
  top[0] = static_cast<Byte>(tag_bytes * 8 % 128 << 1);
  top[15 - nonce.size()] |= 1;
  std::copy(nonce.begin(), nonce.end(), top + kBlockBytes - nonce.size());
  const unsigned bottom = top[15] & 63;
  top[15] &= 0xc0;
  encrypt_blocks(top, top, 1);
  const std::uint64_t a = base::load_be<std::uint64_t>(top), b = base::load_be<std::uint64_t>(top + 8);
  const std::uint64_t stretch[3] = {a, b, a ^ (a << 8 | b >> 56)};
  for (int i = 0; i < 2; ++i) {
    const std::uint64_t low = bottom == 0 ? 0 : stretch[i + 1] >> (64 - bottom);
    base::store_be(offset + 8 * i, stretch[i] << bottom | low);
  }
}

void Ocb::next_offset(Byte offset[16], std::uint64_t number) const noexcept {
  generic::xor_blocks(offset, offset, l_ + static_cast<std::size_t>(std::countr_zero(number)) * kBlockBytes, 1);
}

void Ocb::hash(std::span<const Byte> ad, Byte sum[16]) const noexcept {
  Byte offset[kBlockBytes] = {}, masked[kBlocksPerCall * kBlockBytes];
  std::uint64_t number = 1;
  std::memset(sum, 0, kBlockBytes);
  const auto add = [&](std::size_t blocks) {
    encrypt_blocks(masked, masked, blocks);
    for (std::size_t i = 0; i < blocks; ++i) generic::xor_blocks(sum, sum, masked + i * kBlockBytes, 1);
  };
  while (ad.size() >= kBlockBytes) {
    const std::size_t blocks = std::min(blocks_a_call_, ad.size() / kBlockBytes);
    for (std::size_t i = 0; i < blocks; ++i) {
      next_offset(offset, number++);
      generic::xor_blocks(masked + i * kBlockBytes, ad.data() + i * kBlockBytes, offset, 1);
    }
    add(blocks);
    ad = ad.subspan(blocks * kBlockBytes);
  }
  if (ad.empty()) return;
  std::memset(masked, 0, kBlockBytes);
  std::copy(ad.begin(), ad.end(), masked);
  masked[ad.size()] = 0x80;
  generic::xor_blocks(masked, masked, offset, 1);
  generic::xor_blocks(masked, masked, star_, 1);
  add(1);
}

void Ocb::crypt_blocks(bool encrypt, const aes::OcbRun& all) const noexcept {
  if (all.blocks == 0) return;
  const auto kernel = encrypt ? fused_->ocb_encrypt : fused_->ocb_decrypt;
  if (kernel) {
    count_fused();
    return kernel(key_, all);
  }
  Byte masks[kBlocksPerCall * kBlockBytes];
  for (std::size_t done = 0; done < all.blocks;) {
    const std::size_t blocks = std::min(blocks_a_call_, all.blocks - done);
    const Byte* const in = all.in + done * kBlockBytes;
    Byte* const out = all.out + done * kBlockBytes;
    for (std::size_t i = 0; i < blocks; ++i) {
      if (encrypt) generic::xor_blocks(all.checksum, all.checksum, in + i * kBlockBytes, 1);
      next_offset(all.offset, all.first + done + i);
      std::memcpy(masks + i * kBlockBytes, all.offset, kBlockBytes);
    }
    generic::xor_blocks(out, in, masks, blocks);
    (encrypt ? backend_->encrypt : backend_->decrypt)(key_, out, out, blocks);
    generic::xor_blocks(out, out, masks, blocks);
    if (!encrypt) {
      for (std::size_t i = 0; i < blocks; ++i) {
        generic::xor_blocks(all.checksum, all.checksum, out + i * kBlockBytes, 1);
      }
    }
    done += blocks;
  }
}

void Ocb::crypt(bool encrypt, const AeadText& text, std::size_t tag_bytes, Byte tag[16]) const noexcept {
  Byte offset[kBlockBytes], checksum[kBlockBytes] = {}, sum[kBlockBytes];
  first_offset(text.nonce, tag_bytes, offset);
  const std::size_t blocks = text.in.size() / kBlockBytes, whole = blocks * kBlockBytes;
  crypt_blocks(encrypt, {.in = text.in.data(),
                         .out = text.out,
                         .offset = offset,
                         .checksum = checksum,
                         .l = l_,
                         .first = 1,
                         .blocks = blocks});
  const std::size_t tail = text.in.size() - whole;
  if (tail > 0) {
    Byte last[kBlockBytes] = {};
    generic::xor_blocks(offset, offset, star_, 1);
    if (encrypt) std::copy_n(text.in.data() + whole, tail, last);
    ctr_tail(offset, text.in.subspan(whole), text.out + whole);  // the pad is E(Offset_*)
    if (!encrypt) std::copy_n(text.out + whole, tail, last);
    last[tail] = 0x80;
    generic::xor_blocks(checksum, checksum, last, 1);
  }
  generic::xor_blocks(checksum, checksum, offset, 1);
  generic::xor_blocks(checksum, checksum, dollar_, 1);
  encrypt_blocks(checksum, checksum, 1);
  hash(text.ad, sum);
  generic::xor_blocks(tag, checksum, sum, 1);
}

}  // namespace nbdcrypt::modes
