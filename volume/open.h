// SPDX-License-Identifier: Apache-2.0
//
// From what a user says (an image, options, a secret) to a Volume. The plugin and the command line both come through
// here, so they mean the same by the same words: the long options of cryptsetup(8).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/secret.h"
#include "modes/chain.h"
#include "volume/volume.h"

namespace nbdcrypt::volume {

enum class Type { detect, luks1, luks2, plain };  // detect: LUKS of either version
/// "luks", "luks1", "luks2", "plain", "auto"; throws Error{unsupported} that names another type of cryptsetup's,
/// Error{usage} else.
Type parse_type(std::string_view name);

struct OpenOptions {
  std::string image = {};
  std::optional<std::string> header = {};  // detached header file or device
  Type type = Type::detect;
  bool read_only = false;
  bool allow_discards = false;
  bool direct = false;  // past the page cache
  int key_slot = -1;    // -1: any, by priority

  // plain only: no defaults, as those of cryptsetup 2.6 and 2.7 differ
  std::optional<std::string> cipher = {};
  std::optional<std::uint32_t> key_size_bits = {};
  std::optional<std::string> hash = {};
  std::uint32_t sector_size = 512;
  std::uint64_t offset_sectors = 0;  // of 512 bytes: where the ciphertext begins
  std::uint64_t skip_sectors = 0;    // of 512 bytes: first IV number
  std::uint64_t size_sectors = 0;    // of 512 bytes: 0: to the end
  bool iv_large_sectors = false;

  std::string backend = {};  // empty: the best
  modes::Offload offload = modes::Offload::batch;
};

/// How the volume is unlocked.
enum class SecretKind {
  passphrase,  ///< typed or piped: ends before its newline; plain: hashed
  key_file,    ///< raw bytes; plain: taken as they are, never hashed
  volume_key,  ///< the volume key itself; LUKS: verified against the digest
};
struct Credential {
  SecretKind kind = SecretKind::passphrase;
  base::SecretBuffer secret;
};

/// What unlocking found out: everything that a server needs, and nothing that it must ask the header again.
struct Unlocked {
  Type type = Type::plain;  // luks1, luks2 or plain
  std::string uuid;         // empty for plain
  int key_slot = -1;        // -1: plain, or unlocked by its volume key
  base::SecretBuffer volume_key;
  Segment segment;
  bool allow_discards = false;  // of the options or the header's flags
};

/// Reads header and secret, derives and verifies the volume key. Changes no byte of image or header. Throws Error:
/// {device} missing, {format} no volume or damaged, {unsupported} by name, {passphrase} no slot opens.
Unlocked unlock(const OpenOptions& options, const Credential& credential);

/// Does the passphrase (or key) open a key slot, whatever the data segment? Returns the slot, -1 for a volume key. For
/// open --test-passphrase.
int test_passphrase(const OpenOptions& options, const Credential& credential);

/// Locks the image against other servers and builds the volume from what unlock() found.
std::unique_ptr<Volume> open_volume(const OpenOptions& options, const Unlocked& unlocked);

/// One line for people: "LUKS2 aes-xts-plain64, 512-bit key, 4096-byte sectors, x86-aesni".
std::string describe(const Unlocked& unlocked, const Volume& volume);

/// Reads a key file as cryptsetup does: skips `offset` bytes, takes at most `limit` (0: all, up to 8 MiB). "-" is
/// standard input; with `stop_at_newline` up to the first newline. Throws Error{device} when missing, {usage} when too
/// long or too short.
base::SecretBuffer read_key_file(const std::string& path, std::uint64_t offset = 0, std::uint64_t limit = 0,
                                 bool stop_at_newline = false);

}  // namespace nbdcrypt::volume
