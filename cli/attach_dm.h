// SPDX-License-Identifier: Apache-2.0
//
// The kernel's dm-crypt in place of a server of ours: what `benchmark fs` is compared with. cryptsetup(8) attaches a
// loop device to an image that is a file, and the kernel detaches that with the mapping.
#pragma once

#include <string>

#include "cli/entry.h"

namespace nbdcrypt::cli {

/// Why there is no dm-crypt here; empty when there is.
std::string dm_is_missing();

/// Maps the image as a plain volume, by the cipher and sizes of the state and the key in `key_file`.
void attach_dm(const Entry& entry, State& state, const std::string& key_file);
/// Throws Error{busy} when it is in use.
void detach_dm(const State& state);
/// One that is in use goes away with its last user. Never throws.
void force_detach_dm(const State& state) noexcept;

}  // namespace nbdcrypt::cli
