// SPDX-License-Identifier: Apache-2.0
//
// Prints the table of docs/offload.md.
#include <cstdio>

#include "tests/emulation/padlock/cost.h"

int main() {
  using namespace nbdcrypt;
  std::printf("via-padlock: a batch of %zu sectors of 4096 bytes\n", test::padlock::kCostSectors);
  std::printf("%-21s %-8s %-8s %14s %14s %14s\n", "cipher", "", "offload", "xcrypt", "reloads first", "reloads next");
  for (const auto& row : test::padlock::measure_costs()) {
    std::printf("%-21s %-8s %-8s %14llu %14llu %14llu\n", row.cipher.c_str(), row.direction.c_str(),
                modes::name_of(row.offload), static_cast<unsigned long long>(row.next.xcrypts),
                static_cast<unsigned long long>(row.first.reloads), static_cast<unsigned long long>(row.next.reloads));
  }
}
