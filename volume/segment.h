// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/secret.h"
#include "modes/cipher_spec.h"
#include "modes/sector_cipher.h"

namespace nbdcrypt::volume {

/// The largest sector there is: that of LUKS2 and of dm-crypt.
inline constexpr std::uint32_t kMaxSectorBytes = 4096;

/// A run of consecutive plaintext that is encrypted in one way, and where its ciphertext lies.
struct Segment {
  std::uint64_t volume_offset = 0;  // bytes, where it begins in the plaintext
  std::uint64_t store_offset = 0;   // bytes, where it begins in the store
  std::uint64_t bytes = 0;          // a multiple of layout.sector_bytes
  modes::CipherSpec cipher;
  modes::SectorLayout layout;
};

/// A segment and what decrypts it.
struct CipherSegment {
  Segment segment;
  base::Secret<modes::SectorCipher> cipher;
};

}  // namespace nbdcrypt::volume
