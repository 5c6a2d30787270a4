// SPDX-License-Identifier: Apache-2.0
//
// Mounts what is inside an attached volume. Root: the kernel's file systems, on /dev/nbdN or on a loop device over the
// FUSE file. Everybody else: ext2, ext3 and ext4 by fuse2fs, which reads the FUSE file itself.
#pragma once

#include <optional>
#include <string>

#include "cli/entry.h"
#include "cli/system_table.h"

namespace nbdcrypt::cli {

struct MountRequest {
  std::string directory;  // absolute, without symbolic links
  std::string type;       // empty: as blkid(8) says
  std::string options;    // as for mount(8) -o
  bool read_only = false;
  std::optional<std::uint32_t> partition;
};

/// Mounts it and writes the mount point into the state before. Throws Error{format} when there is no file system,
/// {usage} when there are partitions and none was named, {unsupported} for a type that needs root here, {io} with the
/// words of whatever mounts it. What was done up to then is undone by take_down().
void mount_inside(const Entry& entry, State& state, const MountRequest& request);

/// The mounts of what is inside the volume, whoever mounted them. `device`: as device_of() says.
std::vector<Mount> mounts_from(const std::string& device);

/// Unmounts one. Returns once all of it is written. Throws Error{busy} when it is in use.
void unmount(const Entry& entry, const Mount& mount);
/// Takes it out of the tree, used or not. Never throws.
void force_unmount(const Entry& entry, const Mount& mount) noexcept;

}  // namespace nbdcrypt::cli
