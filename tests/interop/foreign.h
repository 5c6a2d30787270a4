// SPDX-License-Identifier: Apache-2.0
//
// Foreign tools that encrypt and decrypt volumes by themselves, without device-mapper and without root: cryptsetup's
// offline reencryption (LUKS2) and QEMU's block layer (LUKS1).
#pragma once

#include <cstdint>
#include <ostream>
#include <string>

#include "tests/support/process.h"
#include "tests/support/temp_dir.h"

namespace nbdcrypt::test {

/// A cipher in cryptsetup's spelling and the size of its key (XTS: of both keys).
struct Cipher {
  std::string spec;
  int key_bits = 0;

  friend void PrintTo(const Cipher& cipher, std::ostream* out) { *out << cipher.spec << ' ' << cipher.key_bits; }
};

/// Letters, digits and underscores only: part of a test's name.
std::string test_name(std::string text);

namespace cryptsetup {

/// What reencrypt_encrypt() needs free behind the data.
inline constexpr std::uint64_t kReserveBytes = 8 << 20;

/// Encrypts the file in place as LUKS2. Its last kReserveBytes must be free: half of them is where the header goes, the
/// other half ends the volume, with whatever the bytes there happen to decrypt to.
void reencrypt_encrypt(const std::string& image, const std::string& key_file, const Cipher& cipher, int sector_bytes);

/// Decrypts a LUKS2 file in place. The plaintext then begins at byte 0 and is `header` (a new file) shorter than the
/// file.
void reencrypt_decrypt(const std::string& image, const std::string& key_file, const std::string& header);

}  // namespace cryptsetup

namespace qemu {

/// qemu-img create -f luks, that is LUKS1. `cipher`: aes-{xts,cbc}-{plain,plain64,essiv:sha256}.
void create_luks(const std::string& image, const std::string& key_file, const Cipher& cipher, const std::string& hash,
                 std::uint64_t bytes);

/// Image options that open it: for qemu-io and qemu-img --image-opts.
std::string luks_options(const std::string& image);
/// The object that carries the key.
std::string secret(const std::string& key_file);

/// Decrypts the whole volume into a file, or encrypts a file of the volume's size into it.
void read_whole(const std::string& image, const std::string& key_file, const std::string& plaintext_file);
void write_whole(const std::string& image, const std::string& key_file, const std::string& plaintext_file);

/// Runs commands of qemu-io(1) on the decrypted volume. A failed command or a pattern that is not found throws.
void io(const std::string& image, const std::string& key_file, const Args& commands);

}  // namespace qemu
}  // namespace nbdcrypt::test
