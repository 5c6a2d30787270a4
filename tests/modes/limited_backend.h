// SPDX-License-Identifier: Apache-2.0
//
// A backend that is as hard to please as hardware: its kernels do what the generic backend does, but check first that
// their caller kept the limits. Every byte that they may read is read, so that a missing one faults on a guard page.
#pragma once

#include <cstddef>

#include "aes/backend.h"

namespace nbdcrypt::test {

struct KernelLog {
  std::size_t calls = 0;
  std::size_t largest_bytes = 0;  // of one call
  std::size_t direct_calls = 0;   // calls whose input lay in [watched, watched + watched_bytes)
  const aes::Byte* watched = nullptr;
  std::size_t watched_bytes = 0;
  std::size_t misaligned = 0, too_large = 0, not_whole_blocks = 0, overlapping = 0;  // must stay 0
};

/// A backend with kernels for all operations and these limits. One at a time: the log is shared by all kernels.
/// It must outlive every Chain over it.
aes::Backend limited_backend(const aes::Limits& limits);

/// What the kernels saw since limited_backend() was called.
KernelLog& kernel_log();

}  // namespace nbdcrypt::test
