// SPDX-License-Identifier: Apache-2.0
#include "volume/header_new.h"

#include <algorithm>

#include "volume/header_geometry.h"

namespace nbdcrypt::volume {
namespace {

using base::Error;
using base::Kind;

constexpr std::uint64_t kUnitBytes = 512;
constexpr std::uint64_t kLuks1FirstBytes = 4096;  // the header (592 bytes) up to the first key area

std::uint32_t sector_bytes_of(const FormatOptions& options, const NewHeaderPlan& plan, const NewHeaderPlace& place) {
  if (plan.type == Type::luks1) return kUnitBytes;
  if (options.sector_size) return *options.sector_size;
  return default_sector_bytes(place.image, place.image_bytes, options.offset_sectors,
                              place.detached ? 0 : data_alignment(place.image));
}

}  // namespace

NewHeader::NewHeader(const FormatOptions& options, const NewHeaderPlan& plan, NewHeaderPlace place)
    : options_(options),
      plan_(plan),
      place_(std::move(place)),
      sector_bytes_(sector_bytes_of(options_, plan_, place_)),
      copy_(place_.room_bytes),
      data_(place_.image_bytes),
      library_(copy_.path(), place_.detached || offset_given() ? data_.path() : "") {}

std::uint64_t NewHeader::data_offset() const { return crypt_get_data_offset(library_.get()) * kUnitBytes; }

void NewHeader::make(std::span<const Byte> passphrase, std::span<const Byte> volume_key) {
  set_pbkdf();
  set_sizes();
  check_sector_fits();
  const char* const key = volume_key.empty() ? nullptr : reinterpret_cast<const char*>(volume_key.data());
  require(plan_.type == Type::luks1 ? format_luks1(key) : format_luks2(key));
  check_room();
  const char* const chars = passphrase.empty() ? "" : reinterpret_cast<const char*>(passphrase.data());
  require(crypt_keyslot_add_by_volume_key(library_.get(), options_.key_slot, key, plan_.key_bytes, chars,
                                          passphrase.size()));
}

HeaderExtent NewHeader::extent() const {
  HeaderExtent extent = plan_.type == Type::luks1 ? luks1_extent() : luks2_extent();
  extent.cleared_bytes = place_.detached ? extent.header_bytes : data_offset();
  return extent;
}

void NewHeader::require(int result) const {
  if (result < 0) library_.fail(Kind::usage, place_.name, result);
}

void NewHeader::set_pbkdf() const {
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

void NewHeader::set_sizes() const {
  const std::uint64_t metadata = options_.luks2_metadata_bytes, keyslots = options_.luks2_keyslots_bytes;
  if ((metadata || keyslots) && crypt_set_metadata_size(library_.get(), metadata, keyslots) < 0)
    throw Error(Kind::usage,
                "luks2: metadata of " + std::to_string(metadata) + " bytes with " + std::to_string(keyslots) +
                    " bytes of key slots: not allowed",
                0, "metadata: a power of two from 16 KiB to 4 MiB; key slots: a multiple of 4 KiB up to 128 MiB");
  if (offset_given()) require(crypt_set_data_offset(library_.get(), *options_.offset_sectors));
}

// The library says the same without the numbers.
void NewHeader::check_sector_fits() const {
  const std::uint64_t offset = options_.offset_sectors.value_or(0) * kUnitBytes;
  if (!options_.sector_size || *options_.sector_size <= kUnitBytes || place_.image_bytes < offset) return;
  if ((place_.image_bytes - offset) % *options_.sector_size != 0)
    throw Error(Kind::usage, options_.image + ": " + std::to_string(place_.image_bytes) +
                                 " bytes with data from byte " + std::to_string(offset) + ": not a whole number of " +
                                 std::to_string(*options_.sector_size) + "-byte sectors");
}

HeaderExtent NewHeader::luks1_extent() const {
  HeaderExtent extent{.copy_bytes = kLuks1FirstBytes, .copies = 1, .header_bytes = 0, .cleared_bytes = 0};
  for (int slot = 0; slot < crypt_keyslot_max(CRYPT_LUKS1); ++slot) {
    std::uint64_t offset = 0, bytes = 0;
    require(crypt_keyslot_area(library_.get(), slot, &offset, &bytes));
    extent.header_bytes = std::max(extent.header_bytes, offset + bytes);
  }
  return extent;
}

HeaderExtent NewHeader::luks2_extent() const {
  std::uint64_t metadata = 0, keyslots = 0;
  require(crypt_get_metadata_size(library_.get(), &metadata, &keyslots));
  return {.copy_bytes = metadata, .copies = 2, .header_bytes = 2 * metadata + keyslots, .cleared_bytes = 0};
}

int NewHeader::format_luks1(const char* key) const {
  crypt_params_luks1 params = {};
  params.hash = options_.hash ? options_.hash->c_str() : nullptr;
  params.data_alignment = alignment_sectors();
  return crypt_format(library_.get(), CRYPT_LUKS1, plan_.cipher.c_str(), plan_.mode.c_str(), uuid(), key,
                      plan_.key_bytes, &params);
}

int NewHeader::format_luks2(const char* key) const {
  crypt_params_luks2 params = {};
  params.data_alignment = alignment_sectors();
  params.sector_size = sector_bytes_;
  params.label = options_.label.empty() ? nullptr : options_.label.c_str();
  params.subsystem = options_.subsystem.empty() ? nullptr : options_.subsystem.c_str();
  return crypt_format(library_.get(), CRYPT_LUKS2, plan_.cipher.c_str(), plan_.mode.c_str(), uuid(), key,
                      plan_.key_bytes, &params);
}

std::uint32_t NewHeader::alignment_sectors() const {
  if (place_.detached || offset_given()) return 0;
  return static_cast<std::uint32_t>(data_alignment(place_.image) / kUnitBytes);
}

// The library takes a file for something that grows; an image has the size it has.
void NewHeader::check_room() const {
  const std::uint64_t needed = data_offset() + sector_bytes_;
  if (place_.image_bytes >= needed) return;
  throw Error(Kind::usage,
              options_.image + ": too small: header and one sector need " + std::to_string(needed) +
                  " bytes, the image has " + std::to_string(place_.image_bytes),
              0,
              plan_.type == Type::luks2 && !place_.detached
                  ? "LUKS1 needs 2 MiB; LUKS2 less with --luks2-keyslots-size or --offset"
                  : "");
}

}  // namespace nbdcrypt::volume
