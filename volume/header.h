// SPDX-License-Identifier: Apache-2.0
//
// LUKS headers through libcryptsetup, always on a copy in memory (memfd), never on the image itself: loading a header
// whose first copy is damaged makes the library rewrite it. header*.cpp are the only files that include libcryptsetup.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/secret.h"
#include "volume/open.h"
#include "volume/signatures.h"

namespace nbdcrypt::volume {

/// Limits of a key derivation, as cryptsetup's options spell them; zero: the library's default.
struct Pbkdf {
  std::string type = {};  // "argon2id", "argon2i", "pbkdf2", empty: default
  std::uint32_t iter_time_ms = 0;
  std::uint32_t force_iterations = 0;
  std::uint32_t memory_kib = 0;
  std::uint32_t parallel = 0;
};

struct FormatOptions {
  std::string image = {};
  std::optional<std::string> header = {};  // detached: created when it does not exist
  Type type = Type::luks2;
  std::optional<std::string> cipher = {};  // default aes-xts-plain64
  std::optional<std::uint32_t> key_size_bits = {};
  std::optional<std::string> hash = {};
  Pbkdf pbkdf = {};
  std::optional<std::uint32_t> sector_size = {};  // default: by the image's file system or device, as cryptsetup
  std::string label = {}, subsystem = {}, uuid = {};
  int key_slot = -1;
  std::uint64_t luks2_metadata_bytes = 0, luks2_keyslots_bytes = 0;  // 0: default
  std::optional<std::uint64_t> offset_sectors = {};  // of 512 bytes: where the data begins; 0 as if not given
};

/// Formats the image (or detached header). `volume_key`: empty for a random one. All checks come before the first byte
/// is written; then: old signatures, key areas, flush, second copy, flush, first copy, flush. The data area keeps its
/// bytes, except the magic numbers of old signatures (as cryptsetup does). Warnings for people are returned. Throws
/// Error{usage}, {unsupported}, {device}; {busy} while the image is served, mounted or mapped.
std::vector<std::string> format(const FormatOptions& options, std::span<const Byte> passphrase,
                                std::span<const Byte> volume_key);

class Header {
 public:
  /// Loads a LUKS header of `type` (detect: either version) from a copy of `header`, or of `image` when that is empty.
  /// A LUKS2 header whose one copy is damaged is mended in the copy alone, unless something else than LUKS lives on the
  /// device. Throws Error{device}, {format}, {unsupported}.
  static Header load(const std::string& image, const std::optional<std::string>& header, Type type);
  Header(Header&&) noexcept;
  Header& operator=(Header&&) noexcept;
  ~Header();

  Type type() const noexcept;
  std::string uuid() const;

  /// Text as cryptsetup luksDump prints it, and the metadata as JSON (for LUKS1: the same fields in the same shape, as
  /// far as the library tells them: no salts and no digest).
  std::string dump_text() const;
  std::string dump_json() const;

  /// Derives the volume key and verifies it against the digest. Any slot by priority when key_slot is -1.
  /// Throws Error{passphrase}; {unsupported} for a slot that is named and unbound; {usage} for one that is not in use.
  /// Returns the slot that opened (-1 when the volume key itself was given).
  int unlock(const Credential& credential, int key_slot, base::SecretBuffer& volume_key) const;
  /// As unlock(), and also true for an unbound slot that was named: cryptsetup's --test-passphrase.
  int test_passphrase(const Credential& credential, int key_slot) const;

  /// The data segment on an image of `store_bytes`; refuses by name what cannot be served (other ciphers, reencryption,
  /// integrity, requirements, ...), and data that is not inside the image.
  Segment data_segment(std::uint64_t store_bytes) const;
  /// Did somebody make --allow-discards persistent?
  bool flag_allow_discards() const;

  struct Loaded;  // what the header*.cpp files share

 private:
  explicit Header(std::unique_ptr<Loaded> loaded);
  std::unique_ptr<Loaded> loaded_;
};

/// The key of a plain volume: hash "sha256", "sha256:20" (the rest zero), "plain" (the bytes themselves, zero-padded),
/// through libcryptsetup. A key file's bytes are the key, whatever the hash; so is a volume key. Throws Error{usage}
/// for a hash that the library does not know, a length that does not fit, or too few bytes.
base::SecretBuffer plain_key(const std::string& hash, std::size_t key_bytes, const Credential& credential);

}  // namespace nbdcrypt::volume
