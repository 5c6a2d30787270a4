// SPDX-License-Identifier: Apache-2.0
//
// The IVs of sectors, by the names of dm-crypt (Linux, Documentation/admin-guide/device-mapper/dm-crypt.rst).
#pragma once

#include <cstddef>
#include <cstdint>

#include "aes/backend.h"
#include "modes/cipher_spec.h"

namespace nbdcrypt::modes {

using Byte = std::uint8_t;

/// Numbers of consecutive sectors as their IVs see them: number i is (first + i * step) >> shift, the sum modulo 2^64.
/// dm-crypt counts 512-byte units first and shifts afterwards where IVs count whole sectors (iv_large_sectors).
struct SectorNumbers {
  std::uint64_t first;
  std::uint64_t step;
  unsigned shift;  // 0 ... 3
};

/// Fills iv[count * 16] with what the IV generator puts there before any encryption: zeros for null (and none); the
/// number little-endian for plain (32 bits, wraps), plain64 and essiv; for plain64be big-endian in the last 8 bytes;
/// benbi: number * 32 + 1 likewise; eboiv: number * sector_bytes little-endian, whatever the number counts. Arithmetic
/// is modulo 2^64. Never fails. essiv and eboiv still want one ECB encryption of the whole batch, XTS its tweak key:
/// SectorCipher does that.
void fill_iv(IvKind kind, SectorNumbers numbers, std::uint32_t sector_bytes, std::size_t count, Byte* iv) noexcept;

}  // namespace nbdcrypt::modes
