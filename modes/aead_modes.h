// SPDX-License-Identifier: Apache-2.0
//
// The four authenticated modes over chains and the fused kernels of a backend: one class a mode, each in the file of
// its name. Aead checks lengths and tags, and is what others use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "aes/backend.h"
#include "modes/chain.h"

namespace nbdcrypt::modes {

using aes::Byte;

/// One message. out: [in.size()], may equal in.
struct AeadText {
  std::span<const Byte> nonce, ad, in;
  Byte* out;
};

/// What the modes have in common: a key, and how it is used.
class AeadCipher {
 public:
  /// `key`: of 16, 24 or 32 bytes.
  AeadCipher(const aes::Backend& backend, std::span<const Byte> key, Offload offload) noexcept;

 protected:
  /// out = E(in), one or more blocks at a time.
  void encrypt_blocks(const Byte* in, Byte* out, std::size_t blocks) const noexcept;
  /// One message through a chain, whole blocks.
  void run(const Chain& chain, const Byte* in, Byte* out, Byte iv[16], std::size_t blocks) const noexcept;
  /// CBC-MAC of whole blocks.
  void mac(Byte state[16], const Byte* in, std::size_t blocks) const noexcept;
  /// Counter mode over all of in, and CBC-MAC over its whole blocks: those of `in`, or of `out`.
  enum class MacOf { in, out };
  void ctr_mac(MacOf which, Byte counter[16], Byte state[16], std::span<const Byte> in, Byte* out) const noexcept;
  void ctr_mac_by_blocks(MacOf which, const aes::MacRun& run) const noexcept;
  /// The last bytes of a message, at most a block, in counter mode.
  void ctr_tail(const Byte counter[16], std::span<const Byte> in, Byte* out) const noexcept;
  void count_fused() const noexcept;

  const aes::Backend* backend_;
  const aes::Fused* fused_;  // with Offload::off all null
  aes::Key key_{};
  Calls* calls_;
};

class Gcm : AeadCipher {
 public:
  Gcm(const aes::Backend& backend, std::span<const Byte> key, Offload offload) noexcept;
  void crypt(bool encrypt, const AeadText& text, std::size_t tag_bytes, Byte tag[16]) const noexcept;

 private:
  void hash(Byte state[16], const Byte* in, std::size_t blocks) const noexcept;
  /// Takes in any number of bytes, the last block filled up with zeros.
  void hash_padded(Byte state[16], std::span<const Byte> in) const noexcept;
  void first_counter(std::span<const Byte> nonce, Byte counter[16]) const noexcept;
  void crypt_blocks(bool encrypt, const aes::GcmRun& run) const noexcept;

  Chain ctr32_;
  aes::Ghash ghash_;
  Byte h_[16] = {};
  aes::HashKey hash_key_{};
};

class Ccm : AeadCipher {
 public:
  Ccm(const aes::Backend& backend, std::span<const Byte> key, Offload offload) noexcept
      : AeadCipher(backend, key, offload) {}
  void crypt(bool encrypt, const AeadText& text, std::size_t tag_bytes, Byte tag[16]) const noexcept;

 private:
  void mac_ad(Byte state[16], std::span<const Byte> ad) const noexcept;
};

class Eax : AeadCipher {
 public:
  Eax(const aes::Backend& backend, std::span<const Byte> key, Offload offload) noexcept;
  void crypt(bool encrypt, const AeadText& text, std::size_t tag_bytes, Byte tag[16]) const noexcept;

 private:
  /// OMAC^t of the paper: of the block that ends in `t`, then `in`.
  void omac(Byte t, std::span<const Byte> in, Byte result[16]) const noexcept;
  /// The last block of OMAC, 0 to 16 bytes; `state`: of all before it.
  void omac_last(Byte state[16], std::span<const Byte> last) const noexcept;

  Byte started_[3][16] = {};      // the MAC's state behind the block that is t
  Byte b_[16] = {}, p_[16] = {};  // L * x and L * x^2
};

class Ocb : AeadCipher {
 public:
  Ocb(const aes::Backend& backend, std::span<const Byte> key, Offload offload) noexcept;
  void crypt(bool encrypt, const AeadText& text, std::size_t tag_bytes, Byte tag[16]) const noexcept;

 private:
  static constexpr std::size_t kLevels = 64;

  void first_offset(std::span<const Byte> nonce, std::size_t tag_bytes, Byte offset[16]) const noexcept;
  /// HASH of RFC 7253, 4.1.
  void hash(std::span<const Byte> ad, Byte sum[16]) const noexcept;
  void crypt_blocks(bool encrypt, const aes::OcbRun& run) const noexcept;
  void next_offset(Byte offset[16], std::uint64_t number) const noexcept;

  Byte star_[16] = {}, dollar_[16] = {};  // L_*, L_$
  Byte l_[kLevels * 16] = {};             // L_0, L_1, ...
  std::size_t blocks_a_call_;
};

}  // namespace nbdcrypt::modes
