// SPDX-License-Identifier: Apache-2.0
#include "volume/header_geometry.h"

#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

namespace nbdcrypt::volume {
namespace {

constexpr std::uint64_t kDefaultAlignment = 1 << 20;
constexpr std::uint32_t kSmallest = 512, kLargest = 4096;  // sectors

bool is_regular(int device) {
  struct stat status;
  return fstat(device, &status) == 0 && S_ISREG(status.st_mode);
}

/// A file's unit is its file system's block; network file systems that claim a megabyte are not believed.
std::uint32_t logical_block(int device) {
  const auto page = static_cast<std::uint32_t>(sysconf(_SC_PAGESIZE));
  if (is_regular(device)) {
    struct statvfs fs;
    const bool plausible = fstatvfs(device, &fs) == 0 && fs.f_bsize != 0 && fs.f_bsize <= page;
    return plausible ? static_cast<std::uint32_t>(fs.f_bsize) : page;
  }
  int bytes = 0;
  return ioctl(device, BLKSSZGET, &bytes) == 0 ? static_cast<std::uint32_t>(bytes) : page;
}

std::uint32_t physical_block(int device) {
  if (is_regular(device)) return kLargest;
  unsigned bytes = 0;
  return ioctl(device, BLKPBSZGET, &bytes) == 0 ? bytes : kSmallest;
}

std::uint32_t optimal_sector_bytes(int device) {
  const std::uint32_t logical = logical_block(device);
  if (logical >= kLargest) return logical % kLargest == 0 ? kLargest : kSmallest;
  const std::uint32_t physical = physical_block(device);
  const bool better = physical > logical && physical > kSmallest && physical <= kLargest && physical % logical == 0;
  return better ? physical : logical;
}

}  // namespace

std::uint64_t data_alignment(int device) {
  unsigned minimum = 0, optimal = 0;
  if (is_regular(device) || ioctl(device, BLKIOMIN, &minimum) != 0 || minimum == 0) return kDefaultAlignment;
  if (ioctl(device, BLKIOOPT, &optimal) != 0) optimal = minimum;
  // Some USB bridges report nonsense: an optimal size counts only as a multiple of the minimum and of a page.
  const bool plausible = optimal > minimum && optimal % minimum == 0 && optimal % 4096 == 0;
  const std::uint64_t wanted = plausible ? optimal : minimum;
  return kDefaultAlignment % wanted == 0 ? kDefaultAlignment : wanted;
}

std::uint32_t default_sector_bytes(int device, std::uint64_t bytes, std::optional<std::uint64_t> offset_sectors,
                                   std::uint64_t alignment) {
  const std::uint32_t sector = optimal_sector_bytes(device);
  // 2.6.1 compares the offset's number of 512-byte units, not of bytes, with the sector. The same command shall make
  // the same volume, so do we.
  const bool offset_fits = offset_sectors.value_or(0) % sector == 0;
  const bool size_fits = (bytes - alignment) % sector == 0;  // below 0 it wraps modulo a power of two: right as well
  return offset_fits && size_fits ? sector : kSmallest;
}

}  // namespace nbdcrypt::volume
