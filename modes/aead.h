// SPDX-License-Identifier: Apache-2.0
//
// Authenticated encryption: CCM (NIST SP 800-38C), EAX (M. Bellare, P. Rogaway, D. Wagner, FSE 2004), GCM (SP 800-38D)
// and OCB (RFC 7253), with AES keys of 128, 192 and 256 bits. A nonce must never be used twice with a key; this layer
// cannot know, so whoever calls it answers for that.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <variant>

#include "modes/aead_modes.h"

namespace nbdcrypt::modes {

enum class AeadMode { ccm, eax, gcm, ocb };

/// "CCM", ...
const char* name_of(AeadMode mode) noexcept;

/// Throws Error{usage} unless the standard allows these lengths, all in bytes:
///   CCM  nonce n 7 to 13, tag 4, 6, ... 16, text below 2^(8 * (15 - n))
///   EAX  any nonce, tag 1 to 16 (the paper allows 0 as well, which authenticates nothing)
///   GCM  nonce 1 to 2^61 - 1, tag 4, 8, 12 to 16, text at most 2^36 - 32, associated data at most 2^61 - 1
///   OCB  nonce 1 to 15, tag 1 to 16, text and associated data at most 2^61 - 1
void check_lengths(AeadMode mode, std::uint64_t nonce_bytes, std::uint64_t ad_bytes, std::uint64_t text_bytes,
                   std::uint64_t tag_bytes);

class Aead {
 public:
  /// Throws Error{usage} when the key has none of the three lengths. Holds round keys: construct it in a base::Secret.
  Aead(const aes::Backend& backend, AeadMode mode, std::span<const Byte> key, Offload offload = Offload::batch);
  Aead(const Aead&) = delete;  // no second copy of the keys
  Aead& operator=(const Aead&) = delete;

  /// Encrypts `plaintext` to out[plaintext.size()], which may be the same but must not partly overlap it, and fills all
  /// of `tag`. Any alignment. Throws what check_lengths() does.
  void seal(std::span<const Byte> nonce, std::span<const Byte> ad, std::span<const Byte> plaintext, Byte* out,
            std::span<Byte> tag) const;

  /// The reverse. False when the tag is wrong: `out` is then zeroed, all of it (and with it the ciphertext, when that
  /// lay there). While it runs, plaintext that is not authenticated yet passes through `out`. The tags are compared in
  /// constant time. Throws what check_lengths() does, before it writes anything.
  [[nodiscard]] bool open(std::span<const Byte> nonce, std::span<const Byte> ad, std::span<const Byte> ciphertext,
                          Byte* out, std::span<const Byte> tag) const;

  AeadMode mode() const noexcept { return mode_; }
  const aes::Backend& backend() const noexcept { return *backend_; }

 private:
  /// Encrypts or decrypts; the tag in all of its 16 bytes.
  void crypt(bool encrypt, const AeadText& text, std::size_t tag_bytes, Byte tag[16]) const noexcept;

  const aes::Backend* backend_;
  AeadMode mode_;
  std::variant<Ccm, Eax, Gcm, Ocb> cipher_;
};

}  // namespace nbdcrypt::modes
