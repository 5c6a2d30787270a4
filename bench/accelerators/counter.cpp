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
  if (counts().empty()) throw std::runtime_error(file_ + ": no counts; run this program under the instruction counter");
}

void Counter::enter() const noexcept { syscall(SYS_getpriority, ICOUNT_MAGIC, regions_, 0); }

std::size_t Counter::leave() noexcept {
  syscall(SYS_getpriority, ICOUNT_MAGIC, regions_, 1);
  return regions_++;
}

std::vector<std::uint64_t> Counter::counts() const {
  std::ifstream in(file_);
  std::vector<std::uint64_t> counts;
  std::string word;
  std::size_t region = 0;
  for (std::uint64_t count = 0; in >> word >> region >> count && word == "region" && region == counts.size();) {
    counts.push_back(counts.empty() ? count : count - counts.front());
  }
  if (counts.size() != regions_) {
    throw std::runtime_error(file_ + ": " + std::to_string(counts.size()) + " regions, expected " +
                             std::to_string(regions_) + "; run this program under the instruction counter");
  }
  return counts;
}

}  // namespace nbdcrypt::bench
