// SPDX-License-Identifier: Apache-2.0
//
// What the AES instructions of this processor could do if nothing else were to be done: independent blocks that stay in
// registers, one round instruction after the other. No kernel is faster; how near it comes is part of the tables.
#pragma once

#include <cstddef>
#include <string>

namespace nbdcrypt::bench {

/// MB/s (10^6 bytes) of a backend's widest AES instruction with a key of `key_bits`, of AES itself (half the key of
/// XTS). Measured once a process for each. NaN where it is not known: backends without such an instruction, and other
/// architectures than x86.
double limit_mb_per_s(const std::string& backend, std::size_t key_bits);

}  // namespace nbdcrypt::bench
