// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "aes/cpu.h"
#include "aes/cpu_x86.h"

namespace nbdcrypt::aes::cpu {
namespace {

Leaf vendor_leaf(const std::string& name) {
  Leaf leaf;
  std::memcpy(&leaf.ebx, name.data(), 4), std::memcpy(&leaf.edx, &name[4], 4), std::memcpy(&leaf.ecx, &name[8], 4);
  return leaf;
}

/// `units`: edx of leaf 0xC0000001.
std::uint64_t padlock_of(const std::string& vendor, unsigned units, unsigned last_leaf = 0xC0000004) {
  Cpuid cpuid;
  cpuid.vendor = vendor_leaf(vendor);
  cpuid.centaur_range.eax = last_leaf;
  cpuid.centaur.edx = units;
  return features_of(cpuid) & (ace | ace2);
}

TEST(PadlockCpuid, CentaurAndZhaoxinHaveIt) {
  for (const char* vendor : {"CentaurHauls", "  Shanghai  "}) {
    EXPECT_EQ(padlock_of(vendor, 0x3cc), ace | ace2) << vendor;
    EXPECT_EQ(padlock_of(vendor, 0x0cc), std::uint64_t{ace}) << vendor << ", a C3";
  }
}

TEST(PadlockCpuid, OthersHaveNotWhateverThatLeafSays) {
  for (const char* vendor : {"GenuineIntel", "AuthenticAMD", "HygonGenuine"}) {
    EXPECT_FALSE(has_centaur_leaves(vendor_leaf(vendor)));
    EXPECT_EQ(padlock_of(vendor, 0xffffffff), 0u) << vendor;
  }
}

TEST(PadlockCpuid, AUnitMustBeThereAndEnabled) {
  EXPECT_EQ(padlock_of("CentaurHauls", 0x00c), 0u) << "no ACE";
  EXPECT_EQ(padlock_of("CentaurHauls", 0x040), 0u) << "there, not enabled";
  EXPECT_EQ(padlock_of("CentaurHauls", 0x080), 0u) << "enabled, not there";
  EXPECT_EQ(padlock_of("CentaurHauls", 0x1c0), std::uint64_t{ace}) << "ACE2 there, not enabled";
  EXPECT_EQ(padlock_of("CentaurHauls", 0x300), 0u) << "ACE2 alone";
}

TEST(PadlockCpuid, ShortRangesHaveNoSuchLeaf) { EXPECT_EQ(padlock_of("CentaurHauls", 0x3cc, 0xC0000000), 0u); }

TEST(PadlockCpuid, AMaskTakesTheSecondVersionAlong) {
  EXPECT_EQ(parse_mask("ace").features, ace | ace2);
  EXPECT_EQ(parse_mask("ace2").features, std::uint64_t{ace2});
}

TEST(PadlockCpuid, ThisProcessorsVendorIsRead) { EXPECT_NE(query_cpuid().vendor.ebx, 0u); }

}  // namespace
}  // namespace nbdcrypt::aes::cpu
