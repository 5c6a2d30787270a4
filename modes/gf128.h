// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/bytes.h"

namespace nbdcrypt::modes {

/// to[16] = from[16] * x in GF(2^128), first byte highest, modulo x^128 + x^7 + x^2 + x + 1: "double" of RFC 7253 and
/// of OMAC. Without a branch; `to` may be `from`.
inline void times_x_be(const base::Byte* from, base::Byte* to) noexcept {
  const std::uint64_t high = base::load_be<std::uint64_t>(from), low = base::load_be<std::uint64_t>(from + 8);
  base::store_be(to, high << 1 | low >> 63);
  base::store_be(to + 8, low << 1 ^ ((0 - (high >> 63)) & 0x87));
}

}  // namespace nbdcrypt::modes
