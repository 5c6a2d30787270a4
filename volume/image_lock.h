// SPDX-License-Identifier: Apache-2.0
//
// One server at a time. An image that is being served carries open-file-description locks in the byte ranges that QEMU
// uses, so that qemu-img, qemu-nbd and we keep out of each other's way. Never flock(): cryptsetup takes that one.
// The locks belong to the open file, so they survive nbdkit's fork and go away with the last descriptor.
#pragma once

#include <string>

namespace nbdcrypt::volume {

enum class LockMode {
  shared_read,      ///< others may read, nobody may write
  exclusive_write,  ///< nobody else may write, nor read in the belief that nothing changes
};

/// Takes the locks on `fd` (opened for reading at least) or throws Error{busy} "PATH: in use by NAME (process N)"; the
/// holder is looked up in /proc/*/fdinfo, else it is "another process". Where the file system knows no such locks,
/// nothing is taken and nothing is refused. Two that start at the same moment may both be refused, never both succeed.
/// Source: QEMU, block/file-posix.c (lock bytes 100 + p and 200 + p).
void lock_image(int fd, const std::string& path, LockMode mode);

/// Throws Error{busy} as lock_image() would, without taking anything.
void check_image_unlocked(int fd, const std::string& path, LockMode mode);

}  // namespace nbdcrypt::volume
