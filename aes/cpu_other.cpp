// SPDX-License-Identifier: Apache-2.0
//
// Processors that have no backend with features of its own yet.
#include "aes/cpu.h"

namespace nbdcrypt::aes::cpu {

std::uint64_t detect() noexcept { return 0; }

}  // namespace nbdcrypt::aes::cpu
