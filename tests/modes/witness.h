// SPDX-License-Identifier: Apache-2.0
//
// Two independent implementations to compare with: OpenSSL and libgcrypt. One unit a call, nothing of ours involved.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace nbdcrypt::test {

/// Encrypts or decrypts `in` (whole blocks). mode: "ECB", "CBC", "CFB" (128-bit segments), "OFB", "CTR" or "XTS" (whose
/// iv is the tweak before its encryption, and whose key is both keys). Throws std::runtime_error when the library
/// refuses.
using Witness = std::vector<std::uint8_t> (*)(const std::string& mode, bool encrypt, std::span<const std::uint8_t> key,
                                              std::span<const std::uint8_t> iv, std::span<const std::uint8_t> in);

std::vector<std::uint8_t> openssl(const std::string& mode, bool encrypt, std::span<const std::uint8_t> key,
                                  std::span<const std::uint8_t> iv, std::span<const std::uint8_t> in);
std::vector<std::uint8_t> gcrypt(const std::string& mode, bool encrypt, std::span<const std::uint8_t> key,
                                 std::span<const std::uint8_t> iv, std::span<const std::uint8_t> in);

struct NamedWitness {
  const char* name;
  Witness run;
};
inline constexpr NamedWitness kWitnesses[] = {{"OpenSSL", openssl}, {"libgcrypt", gcrypt}};

}  // namespace nbdcrypt::test
