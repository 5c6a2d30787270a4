// SPDX-License-Identifier: Apache-2.0
#include "tests/emulation/padlock/cost.h"

#include <gtest/gtest.h>

#include "tests/emulation/padlock/silicon.h"

namespace nbdcrypt::test::padlock {
namespace {

constexpr std::uint64_t kSectors = kCostSectors, kBlocks = 4096 / 16;

class PadlockCost : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    install();
    rows = measure_costs();
    EXPECT_EQ(counts().stale_keys, 0u);
    remove();
  }

  /// Calls check(row) for the rows of a cipher; there are two directions of three offload levels.
  template <class F>
  static void for_each_row(const std::string& cipher, const F& check) {
    int found = 0;
    for (const CostRow& row : rows) {
      if (row.cipher != cipher) continue;
      SCOPED_TRACE(cipher + " " + row.direction + " " + modes::name_of(row.offload));
      check(row);
      ++found;
    }
    EXPECT_EQ(found, 6);
  }

  static inline std::vector<CostRow> rows;
};

TEST_F(PadlockCost, CbcTakesOneInstructionASectorAndOneKey) {
  for_each_row("aes-cbc-plain64", [](const CostRow& row) {
    const std::uint64_t xcrypts = kSectors * (row.offload == modes::Offload::off ? kBlocks : 1);
    EXPECT_EQ(row.first.xcrypts, xcrypts);
    EXPECT_EQ(row.next.xcrypts, xcrypts);
    EXPECT_EQ(row.first.reloads, 1u);
    EXPECT_EQ(row.next.reloads, 0u);
  });
}

TEST_F(PadlockCost, EssivLoadsTwoKeysABatch) {
  for_each_row("aes-cbc-essiv:sha256", [](const CostRow& row) {
    const std::uint64_t ivs = row.offload == modes::Offload::batch ? 1 : kSectors;
    EXPECT_EQ(row.next.xcrypts, ivs + kSectors * (row.offload == modes::Offload::off ? kBlocks : 1));
    EXPECT_EQ(row.first.reloads, 2u);
    EXPECT_EQ(row.next.reloads, 2u);
  });
}

TEST_F(PadlockCost, XtsTakesOneInstructionForTheDataOfABatch) {
  for_each_row("aes-xts-plain64", [](const CostRow& row) {
    const std::uint64_t tweaks = row.offload == modes::Offload::batch ? 1 : kSectors;
    const std::uint64_t data = row.offload == modes::Offload::off      ? kSectors * kBlocks
                               : row.offload == modes::Offload::buffer ? kSectors
                                                                       : 1;
    EXPECT_EQ(row.next.xcrypts, tweaks + data);
    EXPECT_EQ(row.first.reloads, 2u);
    EXPECT_EQ(row.next.reloads, 2u);
  });
}

}  // namespace
}  // namespace nbdcrypt::test::padlock
