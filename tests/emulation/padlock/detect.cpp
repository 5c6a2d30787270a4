// SPDX-License-Identifier: Apache-2.0
//
// In the place of aes/detect_x86.cpp: this processor, but sold by VIA, and with a PadLock that is there and enabled.
#include <cstring>

#include "aes/cpu.h"
#include "aes/cpu_x86.h"

namespace nbdcrypt::aes::cpu {

std::uint64_t detect() noexcept {
  Cpuid cpuid = query_cpuid();
  std::memcpy(&cpuid.vendor.ebx, "Cent", 4);
  std::memcpy(&cpuid.vendor.edx, "aurH", 4);
  std::memcpy(&cpuid.vendor.ecx, "auls", 4);
  cpuid.centaur_range.eax = 0xC0000001;
  cpuid.centaur.edx = 0x3cc;  // RNG, ACE, ACE2
  return features_of(cpuid);
}

}  // namespace nbdcrypt::aes::cpu
