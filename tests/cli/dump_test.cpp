// SPDX-License-Identifier: Apache-2.0
//
// luksDump, isLuks and luksUUID beside cryptsetup's: text, JSON and exit codes.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/cli/program.h"
#include "tests/support/requires.h"
#include "tests/support/temp_dir.h"

namespace nbdcrypt::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

class Dump : public testing::Test {
 protected:
  void SetUp() override {
    NBDCRYPT_REQUIRE_TOOL("cryptsetup");
    check(Args{"cryptsetup", "luksFormat", "-q", "--type", "luks1", "--uuid", kUuid, "--pbkdf-force-iterations", "1000",
               luks1_, key_});
    check(Args{"cryptsetup", "luksFormat", "-q", "--type", "luks2", "--uuid", kUuid} + kFast + Args{luks2_, key_});
  }
  TempDir dir_;
  std::string key_ = dir_.file("key", "secret");
  std::string luks1_ = dir_.sparse("luks1", 4 << 20), luks2_ = dir_.sparse("luks2", 32 << 20);
  std::string zeros_ = dir_.sparse("zeros", 4 << 20);
};

TEST_F(Dump, TextIsThatOfCryptsetup) {
  for (const std::string& image : {luks1_, luks2_})
    EXPECT_EQ(nbdcrypt({"luksDump", image}).out, check({"cryptsetup", "luksDump", image}));
}

TEST_F(Dump, JsonOfLuks2IsThatOfCryptsetup) {
  const std::string theirs = check({"cryptsetup", "luksDump", "--dump-json-metadata", luks2_});
  for (const char* option : {"--json", "--dump-json-metadata"}) {
    EXPECT_EQ(json::parse(nbdcrypt({"luksDump", option, luks2_}).out), json::parse(theirs));
  }
}

TEST_F(Dump, JsonOfLuks1HasTheShapeOfLuks2) {
  const json dump = json::parse(nbdcrypt({"luksDump", "--json", luks1_}).out);
  EXPECT_EQ(dump["segments"]["0"]["offset"], "2097152");
  EXPECT_EQ(dump["segments"]["0"]["encryption"], "aes-xts-plain64");
  EXPECT_EQ(dump["segments"]["0"]["sector_size"], 512);
  EXPECT_EQ(dump["keyslots"].size(), 1u);
  EXPECT_EQ(dump["keyslots"]["0"]["key_size"], 64);
  EXPECT_EQ(dump["keyslots"]["0"]["kdf"]["iterations"], 1000);
}

// What dump, isLuks and luksUUID say about images that are there, are not, and are something else.
TEST_F(Dump, ExitCodesAreThoseOfCryptsetup) {
  const std::string missing = dir_ / "missing", empty = dir_.file("empty", ""), folder = dir_.path();
  for (const std::string& image : {luks1_, luks2_, zeros_, missing, empty, folder}) {
    for (const char* command : {"luksDump", "isLuks", "luksUUID"}) {
      const Result ours = nbdcrypt({command, image}), theirs = cryptsetup({command, image});
      EXPECT_EQ(ours.exit_code, theirs.exit_code) << command << " " << image << ": " << ours.err << theirs.err;
    }
  }
}

TEST_F(Dump, IsLuksTellsTheVersionsApartAsCryptsetup) {
  for (const char* type : {"luks", "luks1", "luks2"}) {
    for (const std::string& image : {luks1_, luks2_, zeros_}) {
      const Result ours = nbdcrypt({"isLuks", "--type", type, image});
      EXPECT_EQ(ours.exit_code, cryptsetup({"isLuks", "--type", type, image}).exit_code) << type << " " << image;
      EXPECT_EQ(ours.out + ours.err, "");
    }
  }
}

TEST_F(Dump, UuidIsPrinted) {
  for (const std::string& image : {luks1_, luks2_})
    EXPECT_EQ(nbdcrypt({"luksUUID", image}).out, std::string(kUuid) + "\n");
}

TEST_F(Dump, ADetachedHeaderIsReadInsteadOfTheImage) {
  for (const std::string& header : {luks1_, luks2_}) {
    EXPECT_EQ(nbdcrypt({"luksUUID", "--header", header, zeros_}).out, std::string(kUuid) + "\n");
    EXPECT_EQ(nbdcrypt({"isLuks", "--header", header, zeros_}).exit_code, 0);
    EXPECT_THAT(nbdcrypt({"luksDump", "--header", header, zeros_}).out, HasSubstr(kUuid));
  }
}

TEST_F(Dump, ADamagedHeaderIsRefusedAndNotRepaired) {
  std::string broken = read_file(luks1_);
  broken[0x68 + 3] = '\x7f';  // payload offset
  broken[208 + 4] = '\xff';   // key slot 0: iterations
  broken[208 + 44] = '\xff';  // key slot 0: stripes
  const std::string image = dir_.file("broken", broken);
  EXPECT_EQ(nbdcrypt({"luksDump", image}).exit_code, 1);
  EXPECT_TRUE(same(read_file(image), broken));

  std::string half = read_file(luks2_);
  half[100] ^= 1;  // the first copy alone: read from the second
  const std::string recoverable = dir_.file("half", half);
  EXPECT_EQ(nbdcrypt({"luksUUID", recoverable}).out, std::string(kUuid) + "\n");
  EXPECT_TRUE(same(read_file(recoverable), half)) << "looking at a header changed it";
}

TEST_F(Dump, APlainVolumeHasNoHeaderToShow) {
  const Result result = nbdcrypt({"luksDump", "--type", "plain", zeros_});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("plain"));
  EXPECT_THAT(nbdcrypt({"luksDump", "--type", "bitlk", zeros_}).err, HasSubstr("type bitlk is not supported"));
}

}  // namespace
}  // namespace nbdcrypt::test
