// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "aes/backend.h"

namespace nbdcrypt::aes {

/// Fills `key` from `bytes` (16, 24 or 32 of them) with the backend's expand_key and gives it a new serial.
/// Returns false, and leaves `key` alone, when the length is not that of an AES key.
bool make_key(const Backend& backend, std::span<const Byte> bytes, Key& key) noexcept;

/// The key expansion of FIPS 197, 5.2 and 5.3.5, in constant time on any processor: fills enc, dec and rounds.
/// Shared by all backends that have no key instructions of their own.
void expand_key(Key& key, const Byte* bytes, size_t count) noexcept;

}  // namespace nbdcrypt::aes
