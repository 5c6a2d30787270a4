// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace nbdcrypt::test {

/// SHA-256 (FIPS 180-4), so that figures given as digests can be tested where no crypto library is at hand.
std::array<std::uint8_t, 32> sha256(std::span<const std::uint8_t> message);

}  // namespace nbdcrypt::test
