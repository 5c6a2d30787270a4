// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "volume/open.h"

namespace nbdcrypt::volume {

/// unlock() for a plain volume: no header, so every wrong option or secret opens it, as garbage. That is why cipher,
/// key size and hash have no defaults here: those of cryptsetup 2.6 and 2.7 differ.
Unlocked unlock_plain(const OpenOptions& options, const Credential& credential);

}  // namespace nbdcrypt::volume
