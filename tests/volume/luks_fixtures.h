// SPDX-License-Identifier: Apache-2.0
//
// What the tests of headers share: cryptsetup as the other side, secrets, fingerprints of files, the foreign images.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <map>
#include <string>

#include "base/error.h"
#include "tests/support/process.h"
#include "tests/support/requires.h"
#include "tests/support/temp_dir.h"
#include "volume/header.h"

namespace nbdcrypt::test {

inline constexpr const char* kPassphrase = "correct horse";
inline constexpr std::uint64_t kMiB = 1 << 20;

inline std::span<const base::Byte> bytes_of(const std::string& text) {
  return {reinterpret_cast<const base::Byte*>(text.data()), text.size()};
}

inline volume::Credential credential(const std::string& secret,
                                     volume::SecretKind kind = volume::SecretKind::passphrase) {
  return {kind, base::SecretBuffer(bytes_of(secret))};
}

inline std::string text_of(const base::SecretBuffer& secret) { return {secret.chars(), secret.size()}; }

inline std::string hex(const base::SecretBuffer& secret) {
  std::string text;
  for (const base::Byte b : secret.bytes()) text += "0123456789abcdef"[b >> 4], text += "0123456789abcdef"[b & 15];
  return text;
}

inline std::string sha256_of(const std::string& path) { return check({"sha256sum", "--", path}).substr(0, 64); }

/// Runs `action` and returns the Error that it must throw.
inline base::Error error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const base::Error& error) { return error; }
  ADD_FAILURE() << "nothing was thrown";
  return {base::Kind::usage, "nothing was thrown"};
}

/// Options that make a key derivation of no time, ours and cryptsetup's.
inline volume::Pbkdf fast_pbkdf() { return {.type = "pbkdf2", .force_iterations = 1000}; }
inline const Args kFastPbkdf = {"--pbkdf", "pbkdf2", "--pbkdf-force-iterations", "1000"};

inline Args operator+(Args left, const Args& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

/// cryptsetup luksFormat with kPassphrase.
inline void cryptsetup_format(const std::string& image, const Args& options = {}) {
  check(Args{"cryptsetup", "luksFormat", "-q"} + kFastPbkdf + options + Args{image}, {.input = kPassphrase});
}

/// cryptsetup's exit code for open --test-passphrase.
inline int cryptsetup_opens(const std::string& image, const std::string& passphrase, const Args& options = {}) {
  return run(Args{"cryptsetup", "open", "--test-passphrase"} + options + Args{image}, {.input = passphrase}).exit_code;
}

/// The volume key, as cryptsetup finds it.
inline std::string cryptsetup_volume_key(const TempDir& dir, const std::string& image, const Args& options = {}) {
  const std::string file = dir / "volume-key";
  std::filesystem::remove(file);
  check(Args{"cryptsetup", "luksDump", "-q", "--dump-volume-key", "--volume-key-file", file} + options + Args{image},
        {.input = kPassphrase});
  return read_file(file);
}

/// The volume key, as we find it.
inline std::string our_volume_key(const std::string& image, const std::string& passphrase = kPassphrase,
                                  int key_slot = -1) {
  base::SecretBuffer key;
  volume::Header::load(image, {}, volume::Type::detect).unlock(credential(passphrase), key_slot, key);
  return text_of(key);
}

/// Overwrites bytes of a file.
inline void poke(const std::string& path, std::uint64_t offset, const std::string& bytes) {
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekp(static_cast<std::streamoff>(offset));
  file << bytes;
}

/// Puts what libblkid takes for a RAID member near the end of a device: Intel's, 1 KiB before it. Returns its offset.
inline std::uint64_t put_raid_signature(const std::string& path) {
  const std::uint64_t offset = std::filesystem::file_size(path) / 512 * 512 - 1024;
  poke(path, offset, "Intel Raid ISM Cfg Sig. 1.0.00");
  return offset;
}

/// A LUKS2 volume of 32 MiB that cryptsetup made, its data from 16 MiB on.
class Luks2Header : public testing::Test {
 protected:
  void SetUp() override {
    NBDCRYPT_REQUIRE_TOOL("cryptsetup");
    image_ = dir_.sparse("disk.img", 32 * kMiB);
    cryptsetup_format(image_, {"--type", "luks2"});
  }
  volume::Header load() const { return volume::Header::load(image_, {}, volume::Type::detect); }
  TempDir dir_;
  std::string image_;
};

/// Unpacks "name.xz" of the foreign images into `dir`.
inline std::string unpack_image(const TempDir& dir, const std::string& name) {
  check({"sh", "-c", "xz -dc \"$0\" > \"$1\"", images_dir() + "/" + name + ".xz", dir / name});
  return dir / name;
}
inline void unpack_archive(const TempDir& dir, const std::string& name) {
  check({"tar", "-xJf", images_dir() + "/" + name, "-C", dir.path()});
}

}  // namespace nbdcrypt::test
