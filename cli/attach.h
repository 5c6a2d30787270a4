// SPDX-License-Identifier: Apache-2.0
//
// Makes a served volume a file or a device of this system: the kernel's /dev/nbdN where it has that and we may use it,
// else a file by nbdfuse (FUSE, no root needed), else nothing but the NBD URI. NAME/dev is the stable path of either.
#pragma once

#include <string>

#include "cli/entry.h"

namespace nbdcrypt::cli {

enum class AttachChoice { automatic, nbd, fuse, none };
/// "auto", "nbd", "fuse", "none". Throws Error{usage}.
AttachChoice parse_attach_choice(const std::string& word);

/// Throws Error{device} when there is no way to attach, {usage} for `none`: for commands that cannot do without.
void require_attachable(AttachChoice choice);

/// Attaches the server of a held entry and writes into its state what it does, before it does it. `automatic` says on
/// standard error why when it falls back to none; the others throw Error{device} for what is not there, {io} for
/// failures.
void attach(const Entry& entry, State& state, AttachChoice choice);

/// Detaches. Throws Error{busy} when it is in use; the volume then stays as it is. Does nothing when it is not
/// attached.
void detach(const Entry& entry, const State& state);
/// Detaches whatever uses it. Never throws.
void force_detach(const Entry& entry, const State& state) noexcept;

/// What a file system is mounted from, or a loop device attached to: NAME/dev, or the block device behind it.
std::string device_of(const Entry& entry, const State& state);

}  // namespace nbdcrypt::cli
