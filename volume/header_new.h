// SPDX-License-Identifier: Apache-2.0
//
// The header of a new volume, made in memory. Only header_format.cpp needs it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "volume/header.h"
#include "volume/header_copy.h"
#include "volume/header_library.h"

namespace nbdcrypt::volume {

/// What is to be made, checked as far as it can be without the device.
struct NewHeaderPlan {
  Type type;           // luks1 or luks2
  std::string cipher;  // before the first hyphen
  std::string mode;    // what follows it
  std::size_t key_bytes;
};

/// Where it will be.
struct NewHeaderPlace {
  std::string name;          // of the device or file that takes the header, for messages
  std::uint64_t room_bytes;  // of that one
  bool detached;             // the image is another one
  int image;                 // a descriptor of the image
  std::uint64_t image_bytes;
};

/// A second, empty piece of memory stands for the data device where the library must not put header and data together:
/// detached headers, and data offsets that are given (it would clear all that lies before).
class NewHeader {
 public:
  /// Options and plan outlive it.
  NewHeader(const FormatOptions& options, const NewHeaderPlan& plan, NewHeaderPlace place);

  /// Makes it, with its first key slot. Throws when the volume cannot be made like that.
  void make(std::span<const Byte> passphrase, std::span<const Byte> volume_key);

  /// Valid once it was made.
  const HeaderCopy& copy() const { return copy_; }
  HeaderExtent extent() const;
  std::vector<std::string> notes() { return library_.log().notes(); }

 private:
  bool offset_given() const { return options_.offset_sectors.value_or(0) != 0; }
  const char* library_type() const { return plan_.type == Type::luks1 ? CRYPT_LUKS1 : CRYPT_LUKS2; }
  const char* uuid() const { return options_.uuid.empty() ? nullptr : options_.uuid.c_str(); }
  std::uint64_t data_offset() const;
  std::uint32_t alignment_sectors() const;

  void require(int result) const;
  void set_pbkdf() const;
  void set_sizes() const;
  void check_sector_fits() const;
  void check_room() const;
  int format_luks1(const char* key) const;
  int format_luks2(const char* key) const;
  HeaderExtent luks1_extent() const;
  HeaderExtent luks2_extent() const;

  const FormatOptions& options_;
  const NewHeaderPlan& plan_;
  NewHeaderPlace place_;
  std::uint32_t sector_bytes_;
  HeaderCopy copy_, data_;
  LibraryContext library_;
};

}  // namespace nbdcrypt::volume
