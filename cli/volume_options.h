// SPDX-License-Identifier: Apache-2.0
//
// The options that say which volume and how to unlock it, the same in every command that opens one.
#pragma once

#include "cli/command.h"
#include "volume/open.h"

namespace nbdcrypt::cli {

/// type, header, readonly, allow-discards, direct, key-slot, cipher, key-size, hash, sector-size, offset, skip, size,
/// iv-large-sectors, backend, offload; and key-file, keyfile-offset, keyfile-size, volume-key-file, tries, timeout,
/// verify-passphrase.
void add_volume_options(po::options_description& options);

/// What they say about `image`. The aliases luksOpen, plainOpen and the command create stand for a --type. Throws
/// Error{usage} for contradictions, naming the option: whatever would not be heeded is refused.
volume::OpenOptions volume_options(const Arguments& arguments, const std::string& image);

/// Asks for the secret (terminal: --tries times, no echo, --timeout; piped: up to the newline; --key-file,
/// --volume-key-file) and unlocks. Says when a key file would have opened with (or without) its trailing newline.
volume::Unlocked unlock_volume(const Arguments& arguments, const volume::OpenOptions& options);

/// The same dialogue for `open --test-passphrase`: opens a key slot, whatever the data segment. Returns the slot, -1
/// for a volume key.
int test_passphrase(const Arguments& arguments, const volume::OpenOptions& options);

}  // namespace nbdcrypt::cli
