// SPDX-License-Identifier: Apache-2.0
//
// The one way down, in the order file system, loop devices, attachment, server, files. `close`, `umount`, an opening
// that failed or was interrupted half-way, and the cleaning up after a server that was killed all come through here. It
// looks at what is there rather than at what should be, so that it may begin at any point, and be begun again.
#pragma once

#include "cli/entry.h"

namespace nbdcrypt::cli {

/// Throws Error{busy} when something mounted, a loop device, or an NBD client uses the volume. Nothing has changed
/// then.
void refuse_if_used(const Entry& entry, const State& state);

/// Takes down a volume that nobody uses any more: detaches, makes everything durable, ends the server, removes the
/// entry. Throws Error{busy} when the attachment is in use after all (nothing has changed then), and Error{io} when
/// flushing failed: data may be lost, but the volume is closed all the same.
void take_down(Entry& entry, const State& state);

/// Unmounts, detaches and ends whatever there is, used or not. Never throws.
void force_down(Entry& entry) noexcept;

/// Takes down the entry when its server has ended, and says so on standard error. True when it did.
bool clean_if_stale(const RuntimeDir& runtime, const std::string& name);
/// The same for all entries.
void clean_stale(const RuntimeDir& runtime);

}  // namespace nbdcrypt::cli
