// SPDX-License-Identifier: Apache-2.0
//
// A copy of a header in memory (memfd) for libcryptsetup to work on, and the way back to the store. The copy is sparse
// and as long as the device it stands for, so that the library's checks see the truth; of the device it holds the
// metadata and the key areas, which are encrypted. The device itself is only ever read from here, and written by
// write_new_header() alone.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "volume/file_store.h"

namespace nbdcrypt::volume {

/// Where the second copy of a LUKS2 header may begin: the sizes that one copy may have. Source: LUKS2 On-Disk
/// Format 1.1.1, 2.1.
inline constexpr std::array<std::uint64_t, 9> kLuks2CopyBytes = {16 << 10,  32 << 10, 64 << 10, 128 << 10, 256 << 10,
                                                                 512 << 10, 1 << 20,  2 << 20,  4 << 20};
/// Both copies, whatever their size.
inline constexpr std::uint64_t kMaxLuks2MetadataBytes = 2 * kLuks2CopyBytes.back();

class HeaderCopy {
 public:
  /// An empty copy of `bytes` zeros. Throws Error{memory} or {io}.
  explicit HeaderCopy(std::uint64_t bytes);

  /// Its name for libcryptsetup.
  std::string path() const;
  /// Bytes; more than at birth when the library made room for a header.
  std::uint64_t size() const;

  /// Copies [offset, offset + bytes) of `device` (called `name` in messages) as far as it goes; zeros take no memory.
  void fetch(int device, const std::string& name, std::uint64_t offset, std::uint64_t bytes);
  /// Is that range still what `device` has?
  bool equals(int device, const std::string& name, std::uint64_t offset, std::uint64_t bytes) const;
  /// Reads as far as the copy goes; returns the bytes read.
  std::size_t read(std::uint64_t offset, std::span<Byte> out) const;

 private:
  FileDescriptor fd_;
};

/// The kind of header that the copy seems to have, by its magic bytes alone.
enum class Magic { none, luks1, luks2, luks2_second_copy };
Magic magic_of(const HeaderCopy& copy);

/// The parts of a new header, in bytes from the start of the store.
struct HeaderExtent {
  std::uint64_t copy_bytes;     // one copy of the metadata
  unsigned copies;              // that many, one behind the other: LUKS1 has one, LUKS2 two
  std::uint64_t header_bytes;   // with the key areas that follow
  std::uint64_t cleared_bytes;  // zeros from there to here, where the data begins
};

/// Writes a new header in an order that shows no volume, old or new, before all of its keys are there: the old copies
/// are cleared; key areas, flush; second copy, flush; first copy, flush. Errors of the store pass through.
void write_new_header(Store& store, const HeaderCopy& copy, const HeaderExtent& extent);

}  // namespace nbdcrypt::volume
