// SPDX-License-Identifier: Apache-2.0
//
// LUKS2 headers of which one copy is damaged.
#include <gmock/gmock.h>

#include "tests/volume/luks_fixtures.h"

namespace nbdcrypt::test {
namespace {

using base::Kind;
using testing::HasSubstr;
using volume::Header;

class Luks2Recovery : public Luks2Header, public testing::WithParamInterface<std::uint64_t> {
 protected:
  void damage(std::uint64_t offset) { poke(image_, offset, "damage"); }
};

TEST_P(Luks2Recovery, OneDamagedCopyIsMendedInMemoryAlone) {
  damage(GetParam());
  const std::string before = sha256_of(image_);
  base::SecretBuffer key;
  EXPECT_EQ(load().unlock(credential(kPassphrase), -1, key), 0);
  EXPECT_EQ(load().data_segment(32 * kMiB).bytes, 16 * kMiB);
  EXPECT_EQ(sha256_of(image_), before);
}

TEST_P(Luks2Recovery, IsRefusedWhenSomethingElseHasMovedIn) {
  damage(GetParam());
  put_raid_signature(image_);  // at the end of the device, where the copy in memory does not see it
  const std::string before = sha256_of(image_);
  const base::Error error = error_of([&] { load(); });
  EXPECT_EQ(error.kind(), Kind::format);
  EXPECT_THAT(error.what(),
              HasSubstr("one copy of the LUKS2 header is damaged, and the device holds a isw_raid_member volume"));
  EXPECT_THAT(error.hint(), HasSubstr("cryptsetup repair"));
  EXPECT_EQ(sha256_of(image_), before);
}

TEST_F(Luks2Header, OpensBesideAnotherSignatureWhileBothCopiesAreSound) {
  put_raid_signature(image_);
  EXPECT_EQ(load().test_passphrase(credential(kPassphrase), -1), 0);
}

INSTANTIATE_TEST_SUITE_P(Copies, Luks2Recovery, testing::Values(0, 64, 4096 + 5, 16384, 16384 + 64, 16384 + 4096 + 5),
                         [](const auto& test) { return "at_" + std::to_string(test.param); });

}  // namespace
}  // namespace nbdcrypt::test
