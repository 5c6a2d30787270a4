// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace nbdcrypt::test::padlock {

/// AES byte by byte, out of tables of products made at start: FIPS 197 as it is printed, independent of aes/.
class ByteAes {
 public:
  /// Fills `schedule` from a key of 16 bytes.
  static void expand128(const std::uint8_t* key, std::uint8_t (*schedule)[16]);
  /// The schedule of the equivalent inverse cipher.
  static void invert(std::uint8_t (*schedule)[16], unsigned rounds);
  static void encrypt(const std::uint8_t (*schedule)[16], unsigned rounds, const std::uint8_t* in, std::uint8_t* out);
  static void decrypt(const std::uint8_t (*schedule)[16], unsigned rounds, const std::uint8_t* in, std::uint8_t* out);
};

}  // namespace nbdcrypt::test::padlock
