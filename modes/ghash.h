// SPDX-License-Identifier: Apache-2.0
//
// GHASH (NIST SP 800-38D, 6.4) for any processor, in constant time and without tables.
#pragma once

#include <cstddef>

#include "aes/backend.h"

namespace nbdcrypt::modes::generic {

/// Shape as aes::Ghash: state = (state ^ in_i) * h for each of the blocks in[blocks * 16]. Never fails.
void ghash(aes::Byte state[16], const aes::Byte h[16], const aes::Byte* in, std::size_t blocks) noexcept;

}  // namespace nbdcrypt::modes::generic
