// SPDX-License-Identifier: Apache-2.0
//
// Volumes for the tests of the plugin, made by the real cryptsetup; key derivation costs nothing unless a test asks for
// it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/process.h"
#include "tests/support/temp_dir.h"

namespace nbdcrypt::test {

using Bytes = std::vector<std::uint8_t>;

inline constexpr std::uint64_t kMiB = 1 << 20;

/// Where the data of luks1() and luks2() begins.
inline constexpr std::uint64_t kDataOffset = 2 * kMiB;

/// The passphrase of all images. secret_file() writes it to `dir`/secret, without a newline.
inline const std::string kPassphrase = "correct horse battery staple";
std::string secret_file(const TempDir& dir);

/// A sparse image with `data_bytes` of data behind its header, formatted with kPassphrase and `options` for luksFormat.
std::string luks1(const TempDir& dir, std::uint64_t data_bytes, const Args& options = {});
std::string luks2(const TempDir& dir, std::uint64_t data_bytes, const Args& options = {});

/// The same bytes for the same seed; hardly compressible, and never all zero.
Bytes pattern(std::size_t bytes, std::uint32_t seed);

std::string sha256_of_file(const std::string& path);

}  // namespace nbdcrypt::test
