// SPDX-License-Identifier: Apache-2.0
//
// What a new volume should look like on this device. The library would look at its own copy in memory, so the rules of
// cryptsetup 2.6.1 are applied to the real device here, and their results are given to it.
#pragma once

#include <cstdint>
#include <optional>

namespace nbdcrypt::volume {

/// Bytes to which data is aligned: 1 MiB, unless a block device asks for I/O sizes that do not divide it.
std::uint64_t data_alignment(int device);

/// The sector size of a new LUKS2 volume on `device` of `bytes` bytes; `offset_sectors`: where the data begins, if that
/// was said, in 512-byte units; `alignment` of a data offset that was not, 0 when the header is elsewhere.
/// A block device's logical or physical sector, 4096 for a file; 512 where the data would not be a whole number of
/// those.
std::uint32_t default_sector_bytes(int device, std::uint64_t bytes, std::optional<std::uint64_t> offset_sectors,
                                   std::uint64_t alignment);

}  // namespace nbdcrypt::volume
