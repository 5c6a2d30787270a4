// SPDX-License-Identifier: Apache-2.0
#include "base/bytes.h"

#include <gtest/gtest.h>

namespace nbdcrypt::base {
namespace {

TEST(Bytes, IntegersHaveTheOrderThatTheNameSays) {
  const Byte bytes[9] = {0xff, 1, 2, 3, 4, 5, 6, 7, 8};
  EXPECT_EQ(load_le<std::uint64_t>(bytes + 1), 0x0807060504030201u);
  EXPECT_EQ(load_be<std::uint64_t>(bytes + 1), 0x0102030405060708u);
  EXPECT_EQ(load_le<std::uint32_t>(bytes + 1), 0x04030201u);
  EXPECT_EQ(load_be<std::uint16_t>(bytes + 1), 0x0102u);
}

TEST(Bytes, StoresAreTheInverseOfLoadsAtAnyAlignment) {
  Byte bytes[16] = {};
  for (int at = 0; at < 8; ++at) {
    store_le(bytes + at, std::uint64_t{0x1122334455667788});
    EXPECT_EQ(load_le<std::uint64_t>(bytes + at), 0x1122334455667788u);
    store_be(bytes + at, std::uint32_t{0x99aabbcc});
    EXPECT_EQ(bytes[at], 0x99);
    EXPECT_EQ(load_be<std::uint32_t>(bytes + at), 0x99aabbccu);
  }
}

}  // namespace
}  // namespace nbdcrypt::base
