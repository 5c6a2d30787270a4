// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include "base/secret.h"
#include "modes/cipher_spec.h"

namespace nbdcrypt::volume {

/// Throws Error{unsupported} unless the digest of an essiv cipher is an AES key: 16, 24 or 32 bytes. Other IVs pass.
void check_essiv_hash(const modes::CipherSpec& cipher);

/// The key that encrypts ESSIV's sector numbers: the digest of the volume key. Empty for other IVs. Throws as above.
/// Source: Fruhwirth, "New Methods in Hard Disk Encryption", 2005, 2.3; Linux, dm-crypt "essiv".
base::SecretBuffer essiv_key(const modes::CipherSpec& cipher, std::span<const base::Byte> volume_key);

}  // namespace nbdcrypt::volume
