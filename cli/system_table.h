// SPDX-License-Identifier: Apache-2.0
//
// What the system itself knows about mounts and loop devices. Asked each time and never remembered, so that what others
// did meanwhile (umount(8), losetup -d) is seen as it is.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace nbdcrypt::cli {

struct Mount {
  std::string source, target, type;
  bool is_fuse() const { return type.starts_with("fuse"); }
};
/// The mounts of this mount namespace, in order of mounting. Source: /proc/self/mountinfo, proc_pid_mountinfo(5).
std::vector<Mount> mount_table();
bool is_mount_point(const std::string& path);

/// Loop devices over the file or device `path` (absolute, without symbolic links), as "/dev/loop3".
std::vector<std::string> loops_over(const std::string& path);

/// What part of the backing file a loop device shows; bytes == 0: to its end.
struct Window {
  std::uint64_t offset_bytes = 0, bytes = 0;
};
struct LoopOptions {
  std::uint32_t sector_bytes = 512;
  bool read_only = false;
  bool direct_io = true;  // else every page is cached twice
  Window window = {};
};
/// Attaches the first free loop device to `path`. Returns its own path. Throws Error{io}.
std::string attach_loop(const std::string& path, const LoopOptions& options);
/// Detaches it, and waits until it is gone; one that is still in use goes away with its last user. Never throws.
void detach_loop(const std::string& device) noexcept;

}  // namespace nbdcrypt::cli
