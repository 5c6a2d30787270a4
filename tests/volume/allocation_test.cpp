// SPDX-License-Identifier: Apache-2.0
//
// The data path allocates nothing.
#include <gtest/gtest.h>

#include "tests/volume/allocations.h"
#include "tests/volume/stores.h"
#include "tests/volume/volumes.h"

namespace nbdcrypt::test {
namespace {

class Allocation : public testing::TestWithParam<VolumeKind> {};

TEST_P(Allocation, IsNotDoneForRequests) {
  MemoryStore store(1 << 20);
  volume::Volume volume = volume_over(std::make_unique<StoreWrapper>(store), GetParam());
  Bytes data(500'000, 1);
  const auto requests = [&] {
    for (const std::size_t bytes : {std::size_t{1}, std::size_t{5000}, std::size_t{20000}, data.size()}) {
      for (const std::uint64_t offset : {0, 777}) {
        volume.write(offset, std::span(data).first(bytes));
        volume.read(offset, std::span(data).first(bytes));
        volume.zero(offset, bytes, true);
      }
    }
  };
  requests();  // the first of them makes the scratch buffer
  const long before = allocations();
  requests();
  EXPECT_EQ(allocations(), before);
  EXPECT_GT(before, 0);
}

INSTANTIATE_TEST_SUITE_P(All, Allocation, testing::ValuesIn(kVolumeKinds), name_of_kind);

}  // namespace
}  // namespace nbdcrypt::test
