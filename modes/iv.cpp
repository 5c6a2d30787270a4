// SPDX-License-Identifier: Apache-2.0
//
// Sources: dm-crypt.rst, "iv" and "iv_large_sectors"; the details of benbi and eboiv follow from the figures of
// tests/vectors/iv_modes.vec.
#include "modes/iv.h"

#include <cstring>

#include "base/bytes.h"

namespace nbdcrypt::modes {
namespace {

// benbi counts blocks from 1, and a 512-byte unit has 2^5 of them (whatever the sector size).
constexpr unsigned kBenbiShift = 5;

/// Puts one IV into iv[16], whose bytes are zero.
void put_iv(IvKind kind, std::uint64_t number, std::uint32_t sector_bytes, Byte* iv) noexcept {
  switch (kind) {
    case IvKind::none:
    case IvKind::null:
      break;
    case IvKind::plain:
      base::store_le(iv, static_cast<std::uint32_t>(number));
      break;
    case IvKind::plain64:
    case IvKind::essiv:
      base::store_le(iv, number);
      break;
    case IvKind::plain64be:
      base::store_be(iv + 8, number);
      break;
    case IvKind::benbi:
      base::store_be(iv + 8, (number << kBenbiShift) + 1);
      break;
    case IvKind::eboiv:
      base::store_le(iv, number * sector_bytes);
      break;
  }
}

}  // namespace

void fill_iv(IvKind kind, SectorNumbers numbers, std::uint32_t sector_bytes, std::size_t count, Byte* iv) noexcept {
  std::memset(iv, 0, count * aes::kBlockBytes);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t number = (numbers.first + i * numbers.step) >> numbers.shift;
    put_iv(kind, number, sector_bytes, iv + i * aes::kBlockBytes);
  }
}

}  // namespace nbdcrypt::modes
