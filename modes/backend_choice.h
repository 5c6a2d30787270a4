// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "aes/backend.h"

namespace nbdcrypt::modes {

/// The backend of that name, or the best one for an empty name. Throws Error{usage}: an unknown name (listing the known
/// ones), one that this processor cannot run, or an unknown feature in NBDCRYPT_DISABLE_CPU (listing the known ones).
const aes::Backend& choose_backend(std::string_view name);

/// What somebody who named that backend must be told; empty for one that may be chosen unnamed. "backend table: ..."
std::string warning_about(const aes::Backend& backend);

}  // namespace nbdcrypt::modes
