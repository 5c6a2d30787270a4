// SPDX-License-Identifier: Apache-2.0
//
// Not built with a sanitizer, which keeps freed memory.
#include <gtest/gtest.h>

#include "tests/support/process.h"
#include "tests/support/requires.h"
#include "tests/support/temp_dir.h"
#include "tests/volume/luks_fixtures.h"

namespace nbdcrypt::test {
namespace {

TEST(Argon2, GivesItsMemoryBackToTheSystem) {
  NBDCRYPT_REQUIRE_TOOL("cryptsetup");
  TempDir dir;
  const std::string image = dir.sparse("disk.img", 32 * kMiB);
  check({"cryptsetup", "luksFormat", "-q", "--type", "luks2", "--pbkdf", "argon2id", "--pbkdf-force-iterations", "4",
         "--pbkdf-memory", "131072", "--pbkdf-parallel", "2", image},
        {.input = kPassphrase});
  const auto resident_kib = [] {
    const std::string status = read_file("/proc/self/status");
    return std::stol(status.substr(status.find("VmRSS:") + 6));
  };
  const auto peak_kib = [] {
    const std::string status = read_file("/proc/self/status");
    return std::stol(status.substr(status.find("VmHWM:") + 6));
  };
  const long before = resident_kib();
  EXPECT_EQ(our_volume_key(image).size(), 64u);
  EXPECT_GE(peak_kib(), before + 100 * 1024) << "the derivation did not use the memory it should";
  EXPECT_LT(resident_kib(), before + 8 * 1024);
}

}  // namespace
}  // namespace nbdcrypt::test
