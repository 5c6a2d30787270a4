// SPDX-License-Identifier: Apache-2.0
//
// Partitions inside a volume, as sfdisk(8) reads them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace nbdcrypt::cli {

struct Partition {
  std::uint32_t number = 0;
  std::uint64_t offset_bytes = 0, bytes = 0;
};
/// The partitions on `device`. Throws Error{io} when sfdisk cannot read them.
std::vector<Partition> partitions_on(const std::string& device);

/// The one of that number. Throws Error{usage} that lists those that there are.
Partition find_partition(const std::string& device, std::uint32_t number);

/// "1 (16384 KiB), 2 (31744 KiB)".
std::string list_of(const std::vector<Partition>& partitions);

}  // namespace nbdcrypt::cli
