// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace nbdcrypt::aes {
namespace {

/// Zeroes the xmm registers, with an instruction of the first SSE.
void clear_xmm() noexcept {
  asm volatile(".irp i, 0, 1, 2, 3, 4, 5, 6, 7\n xorps %%xmm\\i, %%xmm\\i\n .endr" ::: "memory");
  if constexpr (sizeof(void*) == 8)
    asm volatile(".irp i, 8, 9, 10, 11, 12, 13, 14, 15\n xorps %%xmm\\i, %%xmm\\i\n .endr" ::: "memory");
}

}  // namespace
}  // namespace nbdcrypt::aes
