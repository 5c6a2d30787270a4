// SPDX-License-Identifier: Apache-2.0
//
// What is remembered of an open volume, NAME/state.json: what status shows, and what nobody but us could know when it
// is taken down. What the system itself can say (which mounts, which loop devices, who is alive) is asked, not
// remembered.
#pragma once

#include <cstdint>
#include <string>

#include "volume/open.h"

namespace nbdcrypt::cli {

enum class Attachment {
  none,  ///< only the NBD URI
  fuse,  ///< NAME/dev is a file by nbdfuse
  nbd,   ///< NAME/dev is a symbolic link to the kernel's /dev/nbdN
  dm,    ///< no server: NAME/dev is a symbolic link to /dev/mapper/nbdcrypt-NAME
};

/// "none", "fuse", "nbd", "dm".
const char* attachment_name(Attachment attachment) noexcept;

/// True where State::device is a block device of the kernel's.
constexpr bool is_block_device(Attachment attachment) noexcept {
  return attachment == Attachment::nbd || attachment == Attachment::dm;
}

struct State {
  std::string name;
  std::string image;   // absolute
  std::string header;  // absolute; empty: not detached
  std::string type;    // "LUKS1", "LUKS2", "PLAIN", as cryptsetup status spells it
  std::string uuid, cipher, backend;
  std::uint32_t key_bits = 0;
  int key_slot = -1;
  std::uint32_t sector_bytes = 512;
  std::uint64_t offset_bytes = 0;  // of the data in the image
  std::uint64_t size_bytes = 0;
  bool read_only = false;
  bool allow_discards = false;

  std::string uri;
  int server_pid = 0;
  Attachment attachment = Attachment::none;
  std::string device;        // /dev/nbdN or /dev/mapper/nbdcrypt-NAME when attached by the kernel
  std::string device_owner;  // who connected that, as the kernel tells it
  int own_connections = 0;   // NBD connections that the attachment itself holds
  std::string mount_point;   // where `mount` mounted it; written before it is mounted
};

/// What unlocking and the options say; no attachment yet.
State describe(const std::string& name, const volume::OpenOptions& options, const volume::Unlocked& unlocked);

std::string to_json(const State& state);
/// Throws Error{format} naming `path`.
State from_json(const std::string& text, const std::string& path);

}  // namespace nbdcrypt::cli
