// SPDX-License-Identifier: Apache-2.0
//
// In a file of its own, so that a test can link another processor in its place.
#include "aes/cpu.h"
#include "aes/cpu_x86.h"

namespace nbdcrypt::aes::cpu {

std::uint64_t detect() noexcept { return features_of(query_cpuid()); }

}  // namespace nbdcrypt::aes::cpu
