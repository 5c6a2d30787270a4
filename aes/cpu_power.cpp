// SPDX-License-Identifier: Apache-2.0
//
// The kernel says in the auxiliary vector what the processor has and what it saves: AT_HWCAP and AT_HWCAP2, whose bits
// are those of all POWER and PowerPC processors. Source: Linux, Documentation/powerpc/elf_hwcaps.rst.
#include <sys/auxv.h>

#include "aes/cpu.h"

namespace nbdcrypt::aes::cpu {

std::uint64_t detect() noexcept {
  const unsigned long one = getauxval(AT_HWCAP), two = getauxval(AT_HWCAP2);
  std::uint64_t found = 0;
  if (one & PPC_FEATURE_HAS_SPE) found |= spe;
  if (one & PPC_FEATURE_HAS_VSX && two & PPC_FEATURE2_ARCH_2_07 && two & PPC_FEATURE2_HAS_VEC_CRYPTO) found |= vcrypto;
  return found;
}

}  // namespace nbdcrypt::aes::cpu
