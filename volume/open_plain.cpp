// SPDX-License-Identifier: Apache-2.0
#include "volume/open_plain.h"

#include <bit>

#include "base/error.h"
#include "volume/essiv_key.h"
#include "volume/file_store.h"
#include "volume/header.h"

namespace nbdcrypt::volume {
namespace {

using base::Error;
using base::Kind;

constexpr std::uint64_t kUnitBytes = 512;
constexpr std::uint64_t kMaxSectors = UINT64_MAX / kUnitBytes;
constexpr std::size_t kMaxKeyBits = 1 << 16;

[[noreturn]] void refuse(const OpenOptions& options, const std::string& why) {
  throw Error(Kind::usage, options.image + ": plain: " + why);
}

/// Nothing that a key file or a volume key needs is asked for in vain.
void check_explicit(const OpenOptions& options, SecretKind secret) {
  std::string missing;
  const auto want = [&](bool given, const char* option) {
    if (!given) missing.append(missing.empty() ? "" : ", ").append(option);
  };
  want(options.cipher.has_value(), "--cipher");
  want(options.key_size_bits.has_value(), "--key-size");
  want(options.hash.has_value() || secret != SecretKind::passphrase, "--hash");
  if (missing.empty()) return;
  refuse(options, "needs " + missing +
                      " (defaults differ: cryptsetup 2.6 aes-cbc-essiv:sha256, 256, ripemd160; 2.7 and later "
                      "aes-xts-plain64, 256, sha256)");
}

std::size_t key_bytes_of(const OpenOptions& options, const modes::CipherSpec& cipher) {
  const std::uint32_t bits = *options.key_size_bits;
  if (bits == 0 || bits % 8 != 0 || bits > kMaxKeyBits) refuse(options, "a key of " + std::to_string(bits) + " bits");
  modes::check_key_size(cipher, bits / 8);
  return bits / 8;
}

void check_sector_size(const OpenOptions& options) {
  const std::uint32_t bytes = options.sector_size;
  if (!std::has_single_bit(bytes) || bytes < 512 || bytes > kMaxSectorBytes)
    refuse(options, "sectors of " + std::to_string(bytes) + " bytes, expected 512, 1024, 2048 or 4096");
  if (options.iv_large_sectors && bytes == kUnitBytes)
    refuse(options, "--iv-large-sectors needs sectors larger than 512 bytes");
}

void check_whole(const OpenOptions& options, const char* what, std::uint64_t sectors) {
  if (sectors > kMaxSectors) refuse(options, std::string(what) + " " + std::to_string(sectors) + ": too large");
  if (sectors % (options.sector_size / kUnitBytes) != 0)
    refuse(options, std::string(what) + " " + std::to_string(sectors) + ": not a whole number of " +
                        std::to_string(options.sector_size) + "-byte sectors");
}

/// The bytes of the volume, by dm-crypt's rules: an image of large sectors must end with a whole one.
std::uint64_t volume_bytes(const OpenOptions& options, std::uint64_t store_bytes) {
  const std::string has = ", the image has " + std::to_string(store_bytes) + " bytes";
  if (options.offset_sectors >= (store_bytes + kUnitBytes - 1) / kUnitBytes)
    refuse(options, "offset " + std::to_string(options.offset_sectors) + ": beyond the end" + has);
  const std::uint64_t room = store_bytes - options.offset_sectors * kUnitBytes;
  if (options.sector_size > kUnitBytes && room % options.sector_size != 0)
    refuse(options, std::to_string(room) + " bytes of data are not a whole number of " +
                        std::to_string(options.sector_size) + "-byte sectors");
  if (options.size_sectors > room / kUnitBytes)
    refuse(options, "size " + std::to_string(options.size_sectors) + " from offset " +
                        std::to_string(options.offset_sectors) + has);
  const std::uint64_t bytes =
      options.size_sectors ? options.size_sectors * kUnitBytes : room / options.sector_size * options.sector_size;
  if (bytes == 0) refuse(options, "no room for a sector" + has);
  return bytes;
}

Segment segment_of(const OpenOptions& options, const modes::CipherSpec& cipher) {
  check_sector_size(options);
  check_whole(options, "size", options.size_sectors);
  check_whole(options, "skip", options.skip_sectors);
  if (options.offset_sectors > kMaxSectors)
    refuse(options, "offset " + std::to_string(options.offset_sectors) + ": too large");
  const FileDescriptor image = open_image(options.image, Access::read_only);
  return {.volume_offset = 0,
          .store_offset = options.offset_sectors * kUnitBytes,
          .bytes = volume_bytes(options, size_of(image.get(), options.image)),
          .cipher = cipher,
          .layout = {.sector_bytes = options.sector_size,
                     .first_iv = options.skip_sectors,
                     .iv_large_sectors = options.iv_large_sectors}};
}

}  // namespace

Unlocked unlock_plain(const OpenOptions& options, const Credential& credential) {
  if (options.header) refuse(options, "has no header: --header " + *options.header);
  if (options.key_slot != -1) refuse(options, "has no key slots: --key-slot " + std::to_string(options.key_slot));
  check_explicit(options, credential.kind);
  const modes::CipherSpec cipher = modes::parse_cipher_spec(*options.cipher);
  const std::size_t key_bytes = key_bytes_of(options, cipher);
  check_essiv_hash(cipher);
  Segment segment = segment_of(options, cipher);
  return {.type = Type::plain,
          .uuid = {},
          .key_slot = -1,
          .volume_key = plain_key(options.hash.value_or("plain"), key_bytes, credential),
          .segment = std::move(segment),
          .allow_discards = options.allow_discards};
}

}  // namespace nbdcrypt::volume
