// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "aes/backend.h"

namespace nbdcrypt::modes {

/// The backend of that name, or the best one for an empty name. Throws Error{usage}: an unknown name (listing the known
/// ones), one that this processor cannot run, or an unknown feature in NBDCRYPT_DISABLE_CPU (listing the known ones).
const aes::Backend& choose_backend(std::string_view name);

}  // namespace nbdcrypt::modes
