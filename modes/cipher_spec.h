// SPDX-License-Identifier: Apache-2.0
//
// Cipher specifications in cryptsetup's spelling: "aes-xts-plain64", "aes-cbc-essiv:sha256", "aes-ecb".
// What this project does not do (other ciphers, lrw, cts, capi:, ...) is refused by name, never guessed at.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace nbdcrypt::modes {

enum class Mode { ecb, cbc, xts };
enum class IvKind { none, null, plain, plain64, plain64be, benbi, essiv, eboiv };

struct CipherSpec {
  Mode mode = Mode::xts;
  IvKind iv = IvKind::plain64;
  std::string essiv_hash = {};  // "sha256" in essiv:sha256; empty for other IVs

  /// "aes-xts-plain64" back again.
  std::string text() const;
};

/// Parses `text`. "aes" and "aes-plain" mean aes-cbc-plain, as in cryptsetup 2.6. ECB takes no IV, CBC and XTS need
/// one; any IV goes with them but eboiv with XTS, where dm-crypt and libcryptsetup disagree about what it is. Throws
/// Error{unsupported} that names the cipher, the mode or the IV at fault, Error{usage} when it is not of the form
/// cipher-mode-iv.
CipherSpec parse_cipher_spec(std::string_view text);

/// Throws Error{usage} unless `key_bytes` fits: 16, 24, 32, and for XTS 32, 48, 64 (two keys).
void check_key_size(const CipherSpec& spec, std::size_t key_bytes);

}  // namespace nbdcrypt::modes
