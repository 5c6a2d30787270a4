// SPDX-License-Identifier: Apache-2.0
//
// New headers. Everything is made in memory first, where the library may write as it likes; what may fail has failed
// before the first byte of the image changes. Defaults are those of cryptsetup 2.6.1's luksFormat.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>

#include "volume/header_loaded.h"
#include "volume/header_new.h"
#include "volume/image_lock.h"

namespace nbdcrypt::volume {
namespace {

using base::Error;
using base::Kind;

constexpr std::uint64_t kUnitBytes = 512;
constexpr std::uint64_t kNewHeaderBytes = 4096;  // a header file that does not exist yet; the library makes it larger
constexpr std::size_t kMaxLabelBytes = 47;       // LUKS2 On-Disk Format 1.1.1, 2.1: 48 with the final zero
constexpr std::uint32_t kDefaultKeyBits = 256;

bool is_luks1(const FormatOptions& options) { return options.type == Type::luks1; }

void check_luks1(const FormatOptions& options) {
  const auto refuse = [](bool given, const std::string& what) {
    if (given) throw Error(Kind::usage, "luks1: " + what);
  };
  refuse(options.sector_size.value_or(kUnitBytes) != kUnitBytes, "sectors have 512 bytes");
  refuse(!options.label.empty() || !options.subsystem.empty(), "has no label or subsystem");
  refuse(options.luks2_metadata_bytes || options.luks2_keyslots_bytes, "has no metadata or keyslots size");
  refuse(!options.pbkdf.type.empty() && options.pbkdf.type != CRYPT_KDF_PBKDF2,
         "pbkdf " + options.pbkdf.type + ": only pbkdf2");
}

void check_text(const char* what, const std::string& text) {
  if (text.size() > kMaxLabelBytes)
    throw Error(Kind::usage, std::string(what) + ": " + std::to_string(text.size()) + " bytes, at most " +
                                 std::to_string(kMaxLabelBytes));
}

std::size_t key_bytes_of(const FormatOptions& options, const modes::CipherSpec& cipher) {
  const std::uint32_t bits =
      options.key_size_bits.value_or(cipher.mode == modes::Mode::xts ? 2 * kDefaultKeyBits : kDefaultKeyBits);
  if (bits % 8 != 0)
    throw Error(Kind::usage, "a key of " + std::to_string(bits) + " bits: not a whole number of bytes");
  return bits / 8;
}

NewHeaderPlan checked_plan(const FormatOptions& options, std::span<const Byte> volume_key) {
  if (options.type == Type::plain) throw Error(Kind::usage, options.image + ": a plain volume has no header to format");
  if (is_luks1(options)) check_luks1(options);
  if (const std::uint32_t bytes = options.sector_size.value_or(kUnitBytes);
      bytes < kUnitBytes || bytes > 4096 || !std::has_single_bit(bytes))
    throw Error(Kind::usage, "sectors of " + std::to_string(bytes) + " bytes: expected 512, 1024, 2048 or 4096");
  check_text("label", options.label);
  check_text("subsystem", options.subsystem);
  const int slots = crypt_keyslot_max(is_luks1(options) ? CRYPT_LUKS1 : CRYPT_LUKS2);
  if (options.key_slot < -1 || options.key_slot >= slots)
    throw Error(Kind::usage,
                "key slot " + std::to_string(options.key_slot) + ": expected 0 to " + std::to_string(slots - 1));

  const modes::CipherSpec cipher = modes::parse_cipher_spec(options.cipher.value_or("aes-xts-plain64"));
  const std::size_t key_bytes = key_bytes_of(options, cipher);
  check_luks_key(options.image, cipher, key_bytes);
  if (!volume_key.empty() && volume_key.size() != key_bytes)
    throw Error(Kind::usage, "a volume key of " + std::to_string(volume_key.size()) + " bytes, expected " +
                                 std::to_string(key_bytes));
  const std::string text = cipher.text();
  const std::size_t hyphen = text.find('-');
  return {.type = is_luks1(options) ? Type::luks1 : Type::luks2,
          .cipher = text.substr(0, hyphen),
          .mode = text.substr(hyphen + 1),
          .key_bytes = key_bytes};
}

/// The image, and where the header goes: into it, or into a file or device of its own that may be missing yet.
struct Devices {
  FileDescriptor image;
  std::uint64_t image_bytes;
  bool detached;
  std::string header_name;
  FileDescriptor header;  // detached: none when it is missing
};

bool exists(const std::string& path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0;
}

/// Whoever serves the volume must not lose its header; the locks are kept until the header is written.
Devices open_devices(const FormatOptions& options) {
  const bool detached = options.header.has_value();
  Devices devices{.image = open_image(options.image, detached ? Access::read_only : Access::read_write),
                  .image_bytes = 0,
                  .detached = detached,
                  .header_name = options.header.value_or(options.image),
                  .header = FileDescriptor()};
  devices.image_bytes = size_of(devices.image.get(), options.image);
  if (devices.image_bytes == 0) throw Error(Kind::usage, options.image + ": too small: it has no bytes");
  if (!detached) {
    lock_image(devices.image.get(), options.image, LockMode::exclusive_write);
    return devices;
  }
  check_image_unlocked(devices.image.get(), options.image, LockMode::exclusive_write);
  if (exists(devices.header_name)) {
    devices.header = open_image(devices.header_name, Access::read_write);
    lock_image(devices.header.get(), devices.header_name, LockMode::exclusive_write);
  }
  return devices;
}

std::uint64_t header_room(const Devices& devices) {
  if (!devices.detached) return devices.image_bytes;
  return devices.header ? std::max(kNewHeaderBytes, size_of(devices.header.get(), devices.header_name))
                        : kNewHeaderBytes;
}

void make_room(int fd, const std::string& name, std::uint64_t bytes) {
  struct stat status;
  if (fstat(fd, &status) != 0) base::throw_os_error(name, errno);
  if (S_ISREG(status.st_mode) && static_cast<std::uint64_t>(status.st_size) < bytes &&
      ftruncate(fd, static_cast<off_t>(bytes)) != 0)
    base::throw_os_error(name + ": making room for " + std::to_string(bytes) + " bytes", errno);
}

void write_header(FileDescriptor fd, const std::string& name, const HeaderCopy& copy, const HeaderExtent& extent) {
  FileStore store(name, std::move(fd));
  if (store.size() < extent.cleared_bytes)
    throw Error(Kind::usage, name + ": too small: the header needs " + std::to_string(extent.cleared_bytes) +
                                 " bytes, there are " + std::to_string(store.size()));
  wipe_signatures(store.fd(), name);
  write_new_header(store, copy, extent);
}

/// As cryptsetup makes them: whole pages, and for LUKS1 as long as the data offset where one is given.
std::uint64_t new_file_bytes(const FormatOptions& options, const HeaderExtent& extent) {
  constexpr std::uint64_t kPageBytes = 4096;
  const std::uint64_t whole_pages = (extent.header_bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
  return is_luks1(options) ? std::max(whole_pages, options.offset_sectors.value_or(0) * kUnitBytes) : whole_pages;
}

/// A header file that is missing appears whole or not at all.
void write_new_file(const std::string& name, const HeaderCopy& copy, const HeaderExtent& extent,
                    std::uint64_t file_bytes) {
  FileDescriptor fd(open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (!fd) base::throw_open_error(name, errno);
  try {
    make_room(fd.get(), name, file_bytes);
    write_header(std::move(fd), name, copy, extent);
  } catch (...) {
    unlink(name.c_str());
    throw;
  }
}

}  // namespace

std::vector<std::string> format(const FormatOptions& options, std::span<const Byte> passphrase,
                                std::span<const Byte> volume_key) {
  const NewHeaderPlan plan = checked_plan(options, volume_key);
  Devices devices = open_devices(options);
  NewHeader header(options, plan,
                   {.name = devices.header_name,
                    .room_bytes = header_room(devices),
                    .detached = devices.detached,
                    .image = devices.image.get(),
                    .image_bytes = devices.image_bytes});
  header.make(passphrase, volume_key);
  const HeaderExtent extent = header.extent();
  if (devices.detached && !devices.header) {
    write_new_file(devices.header_name, header.copy(), extent, new_file_bytes(options, extent));
  } else {
    if (devices.detached) make_room(devices.header.get(), devices.header_name, extent.header_bytes);
    write_header(std::move(devices.detached ? devices.header : devices.image), devices.header_name, header.copy(),
                 extent);
  }
  return header.notes();
}

}  // namespace nbdcrypt::volume
