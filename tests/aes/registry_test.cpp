// SPDX-License-Identifier: Apache-2.0
//
// CTest runs these once more for each feature in NBDCRYPT_DISABLE_CPU.
#include "aes/registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <string>

#include "aes/cpu.h"

namespace nbdcrypt::test {
namespace {

TEST(Registry, GenericComesLastOfThoseChosenUnnamedAndRunsEverywhere) {
  std::vector<const aes::Backend*> unnamed;
  for (const aes::Backend* backend : aes::built()) {
    if (!backend->by_name_only) unnamed.push_back(backend);
  }
  ASSERT_FALSE(unnamed.empty());
  EXPECT_STREQ("generic", unnamed.back()->name);
  EXPECT_EQ(0u, unnamed.back()->needs);
}

TEST(Registry, TableIsThereButNeverChosenUnnamed) {
  const aes::Backend* const table = aes::by_name("table");
  ASSERT_NE(nullptr, table);
  EXPECT_TRUE(table->by_name_only);
  EXPECT_EQ(1, std::count(aes::all().begin(), aes::all().end(), table));
  EXPECT_FALSE(aes::best().by_name_only);
}

TEST(Registry, ListsWhatRunsHereInTheOrderOfTheBuild) {
  std::vector<const aes::Backend*> able;
  for (const aes::Backend* backend : aes::built()) {
    if (aes::runs_here(*backend)) able.push_back(backend);
  }
  EXPECT_THAT(aes::all(), testing::ElementsAreArray(able));
  EXPECT_EQ(*std::ranges::find(able, false, &aes::Backend::by_name_only), &aes::best());
}

TEST(Registry, TheBestIsTheOneThatThisProcessorShouldChoose) {
  const char* const name = std::getenv("NBDCRYPT_TEST_BEST");  // of processors.cmake
  if (!name) GTEST_SKIP() << "NBDCRYPT_TEST_BEST is not set";
  EXPECT_STREQ(name, aes::best().name);
}

TEST(Registry, NothingThatIsMaskedIsListed) {
  EXPECT_EQ("", aes::cpu::disabled().unknown);
  EXPECT_EQ(0u, aes::cpu::features() & aes::cpu::disabled().features);
  for (const aes::Backend* backend : aes::all())
    EXPECT_EQ(0u, backend->needs & aes::cpu::disabled().features) << backend->name;
}

TEST(Registry, FindsByNameWhatRunsHereAlone) {
  for (const aes::Backend* backend : aes::built()) {
    EXPECT_EQ(aes::runs_here(*backend) ? backend : nullptr, aes::by_name(backend->name)) << backend->name;
  }
  EXPECT_EQ(nullptr, aes::by_name("no-such-backend"));
  EXPECT_EQ(nullptr, aes::by_name(""));
}

TEST(Registry, EveryBackendIsComplete) {
  std::set<std::string> names;
  for (const aes::Backend* backend : aes::built()) {
    ASSERT_NE(nullptr, backend->name);
    EXPECT_TRUE(names.insert(backend->name).second) << backend->name << " is there twice";
    EXPECT_NE(nullptr, backend->expand_key) << backend->name;
    EXPECT_NE(nullptr, backend->encrypt) << backend->name;
    EXPECT_NE(nullptr, backend->decrypt) << backend->name;
  }
}

TEST(CpuMask, ParsesNames) {
  EXPECT_EQ(0u, aes::cpu::parse_mask("").features);
  EXPECT_EQ(aes::cpu::vpclmul | aes::cpu::avx512, aes::cpu::parse_mask("vpclmul,avx512").features);
  EXPECT_EQ(aes::cpu::vpclmul | aes::cpu::avx512, aes::cpu::parse_mask(" avx512 ,, vpclmul ").features);
  EXPECT_EQ("", aes::cpu::parse_mask("vpclmul,avx512").unknown);
}

TEST(CpuMask, TakesAlongWhatBuildsOnAFeature) {
  using namespace aes::cpu;
  EXPECT_EQ(aesni | vaes, parse_mask("aesni").features);
  EXPECT_EQ(avx | avx2 | vaes | vpclmul | avx512, parse_mask("avx").features);
  EXPECT_EQ(ssse3 | sse41 | avx | avx2 | vaes | vpclmul | avx512, parse_mask("ssse3").features);
  EXPECT_EQ(avx512, parse_mask("avx512").features);
}

TEST(CpuMask, NamesTheFirstUnknownFeature) {
  const aes::cpu::Mask mask = aes::cpu::parse_mask("vaes, AESNI,neon");
  EXPECT_EQ("AESNI", mask.unknown);
  EXPECT_EQ(aes::cpu::vaes, mask.features);
}

TEST(CpuMask, AcceptsTheListOfKnownNames) {
  const aes::cpu::Mask all = aes::cpu::parse_mask(aes::cpu::known_names());
  EXPECT_EQ("", all.unknown);
  EXPECT_EQ(0u, aes::cpu::detect() & ~all.features);
  for (const aes::Backend* backend : aes::built()) EXPECT_EQ(0u, backend->needs & ~all.features) << backend->name;
}

}  // namespace
}  // namespace nbdcrypt::test
