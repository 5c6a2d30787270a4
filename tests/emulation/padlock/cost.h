// SPDX-License-Identifier: Apache-2.0
//
// What a batch of sectors of 4096 bytes costs PadLock: instructions, and loads of a key, which are what the interfaces
// differ in.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "modes/chain.h"

namespace nbdcrypt::test::padlock {

inline constexpr std::size_t kCostSectors = 16;

struct Cost {
  std::uint64_t xcrypts, reloads;
};

struct CostRow {
  std::string cipher, direction;
  modes::Offload offload;
  Cost first, next;  // of the first batch with a cipher, and of each that follows
};

/// Every cipher, direction and offload level. An emulated PadLock must be there (installed.cpp, or install()).
std::vector<CostRow> measure_costs();

}  // namespace nbdcrypt::test::padlock
