// SPDX-License-Identifier: Apache-2.0
//
// A VIA PadLock ACE in software: a handler of SIGILL that executes `rep xcrypt`, for processors that have none. As
// strict as the silicon, or stricter where that promises nothing: what would fault there faults here, what would give
// wrong data there gives wrong data. It has nothing in common with the code under test. Source: VIA PadLock Programming
// Guide.
//
// The unit keeps its key until EFLAGS are loaded, which the emulation sees by a breakpoint in the place of a POPF. At
// the first instruction it looks for that in a function of PUSHF, POPF and RET nearby; where there is none, it goes on
// in single steps until the first POPF, which is slow. So the code under test should have one such place; what it did
// before its first instruction goes unseen, which does no harm, as there is no key to keep yet.
#pragma once

#include <cstdint>

namespace nbdcrypt::test::padlock {

/// A model of the unit; the default is the strictest of all models.
struct Silicon {
  unsigned ecb_fetch_blocks = 8, cbc_fetch_blocks = 4, other_fetch_blocks = 2;  // Nano; 2, 1 and 1 before it
  bool has_ace2 = true;                                                         // CTR; data of any alignment on request
};

struct Counts {
  std::uint64_t xcrypts, blocks;
  std::uint64_t reloads;     // loads of EFLAGS seen
  std::uint64_t stale_keys;  // instructions that ran with another key or control word than those in memory
};

/// From here on the process has a unit, in each thread.
void install(const Silicon& silicon = {});
/// And now none.
void remove();

/// Of all threads, since the last reset().
Counts counts();
void reset_counts();

}  // namespace nbdcrypt::test::padlock
