// SPDX-License-Identifier: Apache-2.0
//
// A third witness for LUKS1: nbdkit's own luks filter (aes-xts-plain64 and whole sectors alone) over nbdkit's file
// plugin, with cryptsetup's header.
#include <gtest/gtest.h>

#include "tests/interop/data.h"
#include "tests/interop/foreign.h"
#include "tests/support/requires.h"

namespace nbdcrypt::test {
namespace {

class Luks1NbdkitFilter : public testing::TestWithParam<int> {
 protected:
  static void TearDownTestSuite() { report_count("luks1 nbdkit filter oracle", cells_); }
  static inline int cells_ = 0;

  Server filter() const { return Server({"file=" + image_, "passphrase=+" + key_file_}, {"--filter=luks"}, "file"); }
  Server ours() const { return Server({"file=" + image_, "key-file=" + key_file_}); }

  TempDir dir_;
  std::string image_ = dir_.sparse("image", 4 << 20);
  std::string key_file_ = dir_.file("key", "oracle");
};

TEST_P(Luks1NbdkitFilter, AgreesBothWays) {
  NBDCRYPT_REQUIRE_TOOL("cryptsetup");
  NBDCRYPT_REQUIRE_TOOL("nbdkit");
  check({"cryptsetup", "luksFormat", "-q", "--type", "luks1", "-c", "aes-xts-plain64", "-s", std::to_string(GetParam()),
         "--pbkdf-force-iterations", "1000", image_, key_file_});
  Bytes shadow;
  {
    Server server = filter();
    Client volume = server.connect();
    shadow.resize(volume.size());
    overwrite(volume, shadow, 1, Grain::sector);
  }
  {
    Server server = ours();
    Client volume = server.connect();
    expect_holds(volume, shadow, 2);
    overwrite(volume, shadow, 3);
  }
  Server server = filter();
  Client volume = server.connect();
  expect_holds(volume, shadow, 4, Grain::sector);
  if (!HasFailure()) ++cells_;
}

INSTANTIATE_TEST_SUITE_P(Nbdkit, Luks1NbdkitFilter, testing::Values(256, 512),
                         [](const auto& cell) { return "key_bits_" + std::to_string(cell.param); });

}  // namespace
}  // namespace nbdcrypt::test
