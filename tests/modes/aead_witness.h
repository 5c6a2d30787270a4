// SPDX-License-Identifier: Apache-2.0
//
// Authenticated modes of OpenSSL (CCM, GCM, OCB) and libgcrypt (all four), one message a call.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "modes/aead.h"

namespace nbdcrypt::test {

/// Ciphertext and tag, one behind the other. Nothing when the library has not got the mode with these lengths.
using AeadWitness = std::optional<std::vector<std::uint8_t>> (*)(
    modes::AeadMode mode, std::span<const std::uint8_t> key, std::span<const std::uint8_t> nonce,
    std::span<const std::uint8_t> ad, std::span<const std::uint8_t> plain, std::size_t tag_bytes);

std::optional<std::vector<std::uint8_t>> openssl_aead(modes::AeadMode mode, std::span<const std::uint8_t> key,
                                                      std::span<const std::uint8_t> nonce,
                                                      std::span<const std::uint8_t> ad,
                                                      std::span<const std::uint8_t> plain, std::size_t tag_bytes);
std::optional<std::vector<std::uint8_t>> gcrypt_aead(modes::AeadMode mode, std::span<const std::uint8_t> key,
                                                     std::span<const std::uint8_t> nonce,
                                                     std::span<const std::uint8_t> ad,
                                                     std::span<const std::uint8_t> plain, std::size_t tag_bytes);

}  // namespace nbdcrypt::test
