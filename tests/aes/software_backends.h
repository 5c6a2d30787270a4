// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "aes/backend.h"

namespace nbdcrypt::test {

/// Backends of this build whose instructions were replaced by those of older processors, so that their logic can be
/// tested where they cannot run. They name what the replacement needs.
std::span<const aes::Backend* const> software_backends();

}  // namespace nbdcrypt::test
