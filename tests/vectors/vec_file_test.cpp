// SPDX-License-Identifier: Apache-2.0
#include "tests/vectors/vec_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/temp_dir.h"

namespace nbdcrypt::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// What for_each_record() throws for a file with this content, or "".
std::string error_of(const std::string& content, const std::function<void(const VecRecord&)>& visit) {
  const TempDir dir;
  try {
    for_each_record(dir.file("a.vec", content), visit);
  } catch (const std::runtime_error& error) { return error.what(); }
  return "";
}

void read_key(const VecRecord& record) { record.text("Key"); }

TEST(VecFile, ReadsSectionsRecordsAndContinuedValues) {
  const TempDir dir;
  std::vector<std::string> sections;
  std::vector<std::vector<std::uint8_t>> keys;
  const std::string content =
      "# comment\n[A]\nKey = 00fF\nCount = 12\n\n\n[B]\nKey = 01 02\n  03\n# between\n  04\nCount = 0";
  EXPECT_EQ(2u, for_each_record(dir.file("a.vec", content), [&](const VecRecord& record) {
              sections.push_back(record.section());
              keys.push_back(record.bytes("Key"));
              EXPECT_EQ(sections.size() == 1 ? 12u : 0u, record.number("Count"));
              EXPECT_FALSE(record.has("Iv"));
            }));
  EXPECT_THAT(sections, ElementsAre("A", "B"));
  EXPECT_THAT(keys, ElementsAre(ElementsAre(0x00, 0xff), ElementsAre(1, 2, 3, 4)));
}

TEST(VecFile, UnreadAttributeIsAnError) {
  EXPECT_THAT(error_of("\nKey = 00\nTag = 01\n", read_key), HasSubstr("a.vec:2: Tag was not read"));
}

TEST(VecFile, MissingAttributeIsAnError) {
  EXPECT_THAT(error_of("Tag = 01\n", read_key), HasSubstr("a.vec:1: no attribute Key"));
}

TEST(VecFile, RefusesWhatItDoesNotUnderstand) {
  EXPECT_THAT(error_of("Key 00\n", read_key), HasSubstr("a.vec:1: neither"));
  EXPECT_THAT(error_of("[A\n", read_key), HasSubstr("a.vec:1: section without ]"));
  EXPECT_THAT(error_of("  00\n", read_key), HasSubstr("a.vec:1: nothing to go on with"));
  EXPECT_THAT(error_of("Key = 00\nKey = 01\n", read_key), HasSubstr("a.vec:2: Key is there twice"));
  EXPECT_THAT(error_of("# nothing\n", read_key), HasSubstr("a.vec: no records"));
  EXPECT_THROW(for_each_record("/nonexistent/a.vec", read_key), std::runtime_error);
}

TEST(VecFile, RefusesValuesOfTheWrongKind) {
  const auto read_bytes = [](const VecRecord& record) { record.bytes("Key"); };
  const auto read_number = [](const VecRecord& record) { record.number("Key"); };
  EXPECT_THAT(error_of("Key = 0g\n", read_bytes), HasSubstr("a.vec:1: Key is not hexadecimal"));
  EXPECT_THAT(error_of("Key = 000\n", read_bytes), HasSubstr("a.vec:1: Key has an odd number of digits"));
  EXPECT_THAT(error_of("Key = 1x\n", read_number), HasSubstr("a.vec:1: Key is not a number"));
}

}  // namespace
}  // namespace nbdcrypt::test
