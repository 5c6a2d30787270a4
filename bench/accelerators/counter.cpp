// SPDX-License-Identifier: Apache-2.0
#include "bench/accelerators/counter.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <fstream>
#include <stdexcept>
#include <utility>

#include "bench/icount/region.h"

namespace nbdcrypt::bench {

Counter::Counter(std::string file) : file_(std::move(file)) {
  count([] {});  // region 0: what entering and leaving costs
  regions();
}

void Counter::enter() const noexcept { syscall(SYS_getpriority, ICOUNT_MAGIC, count_, 0); }

std::size_t Counter::leave() noexcept {
  syscall(SYS_getpriority, ICOUNT_MAGIC, count_, 1);
  return count_++;
}

std::vector<Counter::Region> Counter::regions() const {
  std::ifstream in(file_);
  std::vector<Region> regions;
  std::string word, trace;
  std::size_t number = 0;
  for (std::uint64_t count = 0;
       in >> word >> number >> count >> trace && word == "region" && number == regions.size();) {
    regions.push_back(
        {regions.empty() ? count : count - regions.front().instructions, std::stoull(trace, nullptr, 16)});
  }
  if (regions.size() != count_) {
    throw std::runtime_error(file_ + ": " + std::to_string(regions.size()) + " regions, expected " +
                             std::to_string(count_) + "; run this program under the instruction counter");
  }
  return regions;
}

}  // namespace nbdcrypt::bench
