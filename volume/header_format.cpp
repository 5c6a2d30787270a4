// SPDX-License-Identifier: Apache-2.0
//
// New headers. Everything is made in memory first, where the library may write as it likes; what may fail has failed before the
// first byte of the image changes. Defaults are those of cryptsetup 2.6.1's luksFormat.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>

#include "volume/header_geometry.h"
#include "volume/header_loaded.h"
#include "volume/image_lock.h"

namespace nbdcrypt::volume {
namespace {

using base::Error;
using base::Kind;

constexpr std::uint64_t kUnitBytes = 512;
constexpr std::uint64_t kLuks1FirstBytes = 4096;   // the header (592 bytes) up to the first key area
constexpr std::uint64_t kNewHeaderBytes = 4096;    // a header file that does not exist yet; the library makes it larger
constexpr std::size_t kMaxLabelBytes = 47;         // LUKS2 On-Disk Format 1.1.1, 2.1: 48 with the final zero
constexpr std::uint32_t kDefaultKeyBits = 256;

/// What is to be made, checked as far as it can be without the device.
struct Plan {
  Type type;
  std::string cipher;  // before the first hyphen
  std::string mode;    // what follows it
  std::size_t key_bytes;
};

bool is_luks1(const FormatOptions& options) { return options.type == Type::luks1; }

void check_luks1(const FormatOptions& options) {
  const auto refuse = [](bool given, const std::string& what) {
    if (given) throw Error(Kind::usage, "luks1: " + what);
  };
  refuse(options.sector_size.value_or(kUnitBytes) != kUnitBytes, "sectors have 512 bytes");
  refuse(!options.label.empty() || !options.subsystem.empty(), "has no label or subsystem");
  refuse(options.luks2_metadata_bytes || options.luks2_keyslots_bytes, "has no metadata or keyslots size");
  refuse(!options.pbkdf.type.empty() && options.pbkdf.type != CRYPT_KDF_PBKDF2, "pbkdf " + options.pbkdf.type + ": only pbkdf2");
}

void check_text(const char* what, const std::string& text) {
  if (text.size() > kMaxLabelBytes)
    throw Error(Kind::usage, std::string(what) + ": " + std::to_string(text.size()) + " bytes, at most " + std::to_string(kMaxLabelBytes));
}

std::size_t key_bytes_of(const FormatOptions& options, const modes::CipherSpec& cipher) {
  const std::uint32_t bits = options.key_size_bits.value_or(cipher.mode == modes::Mode::xts ? 2 * kDefaultKeyBits : kDefaultKeyBits);
  if (bits % 8 != 0) throw Error(Kind::usage, "a key of " + std::to_string(bits) + " bits: not a whole number of bytes");
  return bits / 8;
}

Plan checked_plan(const FormatOptions& options, std::span<const Byte> volume_key) {
  if (options.type == Type::plain) throw Error(Kind::usage, options.image + ": a plain volume has no header to format");
  if (is_luks1(options)) check_luks1(options);
  if (const std::uint32_t bytes = options.sector_size.value_or(kUnitBytes); bytes < kUnitBytes || bytes > 4096 || !std::has_single_bit(bytes))
    throw Error(Kind::usage, "sectors of " + std::to_string(bytes) + " bytes: expected 512, 1024, 2048 or 4096");
  check_text("label", options.label);
  check_text("subsystem", options.subsystem);
  const int slots = crypt_keyslot_max(is_luks1(options) ? CRYPT_LUKS1 : CRYPT_LUKS2);
  if (options.key_slot < -1 || options.key_slot >= slots)
    throw Error(Kind::usage, "key slot " + std::to_string(options.key_slot) + ": expected 0 to " + std::to_string(slots - 1));

  const modes::CipherSpec cipher = modes::parse_cipher_spec(options.cipher.value_or("aes-xts-plain64"));
  const std::size_t key_bytes = key_bytes_of(options, cipher);
  check_luks_key(options.image, cipher, key_bytes);
  if (!volume_key.empty() && volume_key.size() != key_bytes)
    throw Error(Kind::usage, "a volume key of " + std::to_string(volume_key.size()) + " bytes, expected " + std::to_string(key_bytes));
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
  return devices.header ? std::max(kNewHeaderBytes, size_of(devices.header.get(), devices.header_name)) : kNewHeaderBytes;
}

std::uint32_t sector_bytes_of(const FormatOptions& options, const Devices& devices) {
  if (is_luks1(options)) return kUnitBytes;
  if (options.sector_size) return *options.sector_size;
  return default_sector_bytes(devices.image.get(), devices.image_bytes, options.offset_sectors,
                              devices.detached ? 0 : data_alignment(devices.image.get()));
}

/// The header of a new volume, in memory. A second, empty piece of memory stands for the data device where the library must
/// not put header and data together: detached headers, and data offsets that are given (it would clear all that lies before).
class NewHeader {
 public:
  NewHeader(const FormatOptions& options, const Plan& plan, const Devices& devices)
      : options_(options),
        plan_(plan),
        devices_(devices),
        sector_bytes_(sector_bytes_of(options, devices)),
        copy_(header_room(devices)),
        data_(devices.image_bytes),
        library_(copy_.path(), devices.detached || offset_given() ? data_.path() : "") {}

  /// Throws when the volume cannot be made like that.
  void make(std::span<const Byte> passphrase, std::span<const Byte> volume_key) {
    set_pbkdf();
    set_sizes();
    check_sector_fits();
    const char* const key = volume_key.empty() ? nullptr : reinterpret_cast<const char*>(volume_key.data());
    require(plan_.type == Type::luks1 ? format_luks1(key) : format_luks2(key));
    check_room();
    const char* const chars = passphrase.empty() ? "" : reinterpret_cast<const char*>(passphrase.data());
    require(crypt_keyslot_add_by_volume_key(library_.get(), options_.key_slot, key, plan_.key_bytes, chars, passphrase.size()));
  }

  HeaderExtent extent() const {
    HeaderExtent extent = plan_.type == Type::luks1 ? luks1_extent() : luks2_extent();
    extent.cleared_bytes = devices_.detached ? extent.header_bytes : data_offset();
    return extent;
  }

  const HeaderCopy& copy() const { return copy_; }
  std::vector<std::string> notes() { return library_.log().notes(); }

 private:
  bool offset_given() const { return options_.offset_sectors.value_or(0) != 0; }
  const char* library_type() const { return plan_.type == Type::luks1 ? CRYPT_LUKS1 : CRYPT_LUKS2; }
  const char* uuid() const { return options_.uuid.empty() ? nullptr : options_.uuid.c_str(); }
  std::uint64_t data_offset() const { return crypt_get_data_offset(library_.get()) * kUnitBytes; }

  void require(int result) const {
    if (result < 0) library_.fail(Kind::usage, devices_.header_name, result);
  }

  void set_pbkdf() const {
    crypt_pbkdf_type pbkdf = *crypt_get_pbkdf_default(library_type());
    const Pbkdf& wanted = options_.pbkdf;
    if (!wanted.type.empty()) pbkdf.type = wanted.type.c_str();
    if (options_.hash) pbkdf.hash = options_.hash->c_str();
    if (wanted.iter_time_ms) pbkdf.time_ms = wanted.iter_time_ms;
    if (std::string_view(pbkdf.type) == CRYPT_KDF_PBKDF2) {
      pbkdf.max_memory_kb = pbkdf.parallel_threads = 0;
    } else {
      if (wanted.memory_kib) pbkdf.max_memory_kb = wanted.memory_kib;
      if (wanted.parallel) pbkdf.parallel_threads = wanted.parallel;
    }
    if (wanted.force_iterations) {
      pbkdf.iterations = wanted.force_iterations;
      pbkdf.time_ms = 0;
      pbkdf.flags |= CRYPT_PBKDF_NO_BENCHMARK;
    }
    require(crypt_set_pbkdf_type(library_.get(), &pbkdf));
  }

  void set_sizes() const {
    const std::uint64_t metadata = options_.luks2_metadata_bytes, keyslots = options_.luks2_keyslots_bytes;
    if ((metadata || keyslots) && crypt_set_metadata_size(library_.get(), metadata, keyslots) < 0)
      throw Error(Kind::usage, "luks2: metadata of " + std::to_string(metadata) + " bytes with " + std::to_string(keyslots) +
                                   " bytes of key slots: not allowed",
                  0, "metadata: a power of two from 16 KiB to 4 MiB; key slots: a multiple of 4 KiB up to 128 MiB");
    if (offset_given()) require(crypt_set_data_offset(library_.get(), *options_.offset_sectors));
  }

  // The library says the same without the numbers.
  void check_sector_fits() const {
    const std::uint64_t offset = options_.offset_sectors.value_or(0) * kUnitBytes;
    if (!options_.sector_size || *options_.sector_size <= kUnitBytes || devices_.image_bytes < offset) return;
    if ((devices_.image_bytes - offset) % *options_.sector_size != 0)
      throw Error(Kind::usage, options_.image + ": " + std::to_string(devices_.image_bytes) + " bytes with data from byte " +
                                   std::to_string(offset) + ": not a whole number of " + std::to_string(*options_.sector_size) + "-byte sectors");
  }

  HeaderExtent luks1_extent() const {
    HeaderExtent extent{.copy_bytes = kLuks1FirstBytes, .copies = 1, .header_bytes = 0, .cleared_bytes = 0};
    for (int slot = 0; slot < crypt_keyslot_max(CRYPT_LUKS1); ++slot) {
      std::uint64_t offset = 0, bytes = 0;
      require(crypt_keyslot_area(library_.get(), slot, &offset, &bytes));
      extent.header_bytes = std::max(extent.header_bytes, offset + bytes);
    }
    return extent;
  }

  HeaderExtent luks2_extent() const {
    std::uint64_t metadata = 0, keyslots = 0;
    require(crypt_get_metadata_size(library_.get(), &metadata, &keyslots));
    return {.copy_bytes = metadata, .copies = 2, .header_bytes = 2 * metadata + keyslots, .cleared_bytes = 0};
  }

  int format_luks1(const char* key) const {
    crypt_params_luks1 params = {};
    params.hash = options_.hash ? options_.hash->c_str() : nullptr;
    params.data_alignment = alignment_sectors();
    return crypt_format(library_.get(), CRYPT_LUKS1, plan_.cipher.c_str(), plan_.mode.c_str(), uuid(), key, plan_.key_bytes, &params);
  }

  int format_luks2(const char* key) const {
    crypt_params_luks2 params = {};
    params.data_alignment = alignment_sectors();
    params.sector_size = sector_bytes_;
    params.label = options_.label.empty() ? nullptr : options_.label.c_str();
    params.subsystem = options_.subsystem.empty() ? nullptr : options_.subsystem.c_str();
    return crypt_format(library_.get(), CRYPT_LUKS2, plan_.cipher.c_str(), plan_.mode.c_str(), uuid(), key, plan_.key_bytes, &params);
  }

  std::uint32_t alignment_sectors() const {
    if (devices_.detached || offset_given()) return 0;
    return static_cast<std::uint32_t>(data_alignment(devices_.image.get()) / kUnitBytes);
  }

  // The library takes a file for something that grows; an image has the size it has.
  void check_room() const {
    const std::uint64_t needed = data_offset() + sector_bytes_;
    if (devices_.image_bytes >= needed) return;
    throw Error(Kind::usage, options_.image + ": too small: header and one sector need " + std::to_string(needed) + " bytes, the image has " +
                                 std::to_string(devices_.image_bytes),
                0, plan_.type == Type::luks2 && !devices_.detached ? "LUKS1 needs 2 MiB; LUKS2 less with --luks2-keyslots-size or --offset" : "");
  }

  const FormatOptions& options_;
  const Plan& plan_;
  const Devices& devices_;
  std::uint32_t sector_bytes_;
  HeaderCopy copy_, data_;
  LibraryContext library_;
};

void make_room(int fd, const std::string& name, std::uint64_t bytes) {
  struct stat status;
  if (fstat(fd, &status) != 0) base::throw_os_error(name, errno);
  if (S_ISREG(status.st_mode) && static_cast<std::uint64_t>(status.st_size) < bytes && ftruncate(fd, static_cast<off_t>(bytes)) != 0)
    base::throw_os_error(name + ": making room for " + std::to_string(bytes) + " bytes", errno);
}

void write_header(FileDescriptor fd, const std::string& name, const HeaderCopy& copy, const HeaderExtent& extent) {
  FileStore store(name, std::move(fd));
  if (store.size() < extent.cleared_bytes)
    throw Error(Kind::usage, name + ": too small: the header needs " + std::to_string(extent.cleared_bytes) + " bytes, there are " +
                                 std::to_string(store.size()));
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
void write_new_file(const std::string& name, const HeaderCopy& copy, const HeaderExtent& extent, std::uint64_t file_bytes) {
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

std::vector<std::string> format(const FormatOptions& options, std::span<const Byte> passphrase, std::span<const Byte> volume_key) {
  const Plan plan = checked_plan(options, volume_key);
  Devices devices = open_devices(options);
  NewHeader header(options, plan, devices);
  header.make(passphrase, volume_key);
  const HeaderExtent extent = header.extent();
  if (devices.detached && !devices.header) {
    write_new_file(devices.header_name, header.copy(), extent, new_file_bytes(options, extent));
  } else {
    if (devices.detached) make_room(devices.header.get(), devices.header_name, extent.header_bytes);
    write_header(std::move(devices.detached ? devices.header : devices.image), devices.header_name, header.copy(), extent);
  }
  return header.notes();
}

}  // namespace nbdcrypt::volume
