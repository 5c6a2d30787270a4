// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace nbdcrypt::volume {

struct KdfSpeed {
  std::uint32_t iterations = 0;  // pbkdf2: a second; Argon2: for the time that was asked for
  std::uint32_t memory_kib = 0, threads = 0;
};

inline constexpr std::uint32_t kKdfKeyBits = 256;
inline constexpr std::uint32_t kKdfTargetMs = 2000;

/// How fast libcryptsetup derives a 256-bit key. `type`: "pbkdf2" with a hash, "argon2i", "argon2id" (with its
/// defaults: 1 GiB, 4 threads, 2000 ms). Nothing when the library cannot do it here.
std::optional<KdfSpeed> measure_kdf(const std::string& type, const std::string& hash);

}  // namespace nbdcrypt::volume
