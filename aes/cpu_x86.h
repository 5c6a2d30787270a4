// SPDX-License-Identifier: Apache-2.0
//
// What CPUID and XGETBV say, as a record, so that the features of processors that nobody has here can be tested.
#pragma once

#include <cstdint>

namespace nbdcrypt::aes::cpu {

struct Leaf {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;  // all zero where the processor has no such leaf
};

struct Cpuid {
  Leaf vendor;                     // 0
  Leaf basic;                      // 1
  Leaf extended;                   // 7
  Leaf centaur_range;              // 0xC0000000: eax is the last leaf of this range; of Centaur and Zhaoxin alone
  Leaf centaur;                    // 0xC0000001
  std::uint64_t saved_states = 0;  // XCR0: the register states that the system saves and restores
};

/// Of this processor.
Cpuid query_cpuid() noexcept;

/// "CentaurHauls" or "  Shanghai  " (Zhaoxin): the processors that can have PadLock, and the leaves from 0xC0000000 on.
bool has_centaur_leaves(const Leaf& vendor) noexcept;

/// The mask of features.
std::uint64_t features_of(const Cpuid& cpuid) noexcept;

}  // namespace nbdcrypt::aes::cpu
