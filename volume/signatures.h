// SPDX-License-Identifier: Apache-2.0
//
// What else lives on a device: file systems, volumes and partition tables, as libblkid sees them.
#pragma once

#include <string>
#include <vector>

namespace nbdcrypt::volume {

/// The file systems, volumes and partition tables that libblkid finds on `path`, as "ext4 file system"; empty: none.
/// A LUKS header is one of them: "crypto_LUKS volume". Throws Error{device} or {io}.
std::vector<std::string> signatures_on(const std::string& path);

/// As signatures_on(), without LUKS.
std::vector<std::string> foreign_signatures_on(const std::string& path);

/// Overwrites the magic bytes of every signature on `fd` (open for writing), LUKS among them, wherever it lies: as
/// cryptsetup luksFormat and wipefs do, a second superblock or partition table at the end of the device goes as well.
/// Not synced.
void wipe_signatures(int fd, const std::string& name);

}  // namespace nbdcrypt::volume
