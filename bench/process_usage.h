// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

namespace nbdcrypt::bench {

/// User and system time of a process so far, in the kernel's ticks (usually 10 ms). Throws std::runtime_error when
/// there is no such process.
double cpu_seconds_of(pid_t pid);

}  // namespace nbdcrypt::bench
