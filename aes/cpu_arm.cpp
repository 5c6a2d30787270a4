// SPDX-License-Identifier: Apache-2.0
//
// The kernel says in the auxiliary vector what the processor has. Source: Linux, Documentation/arm64/elf_hwcaps.rst.
#include <sys/auxv.h>

#include "aes/cpu.h"

namespace nbdcrypt::aes::cpu {

std::uint64_t detect() noexcept {
  const unsigned long has = getauxval(AT_HWCAP);
  std::uint64_t found = 0;
  if (has & HWCAP_AES) found |= armaes;
  if (has & HWCAP_PMULL) found |= pmull;
  return found;
}

}  // namespace nbdcrypt::aes::cpu
