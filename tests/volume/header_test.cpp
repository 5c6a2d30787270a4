// SPDX-License-Identifier: Apache-2.0
//
// Loading, unlocking and dumping, against headers that cryptsetup made.
#include "volume/header.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/volume/luks2_editor.h"
#include "tests/volume/luks_fixtures.h"

namespace nbdcrypt::test {
namespace {

using base::Kind;
using testing::HasSubstr;
using testing::StartsWith;
using volume::Header;
using volume::SecretKind;
using volume::Type;

class LuksHeader : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { NBDCRYPT_REQUIRE_TOOL("cryptsetup"); }
  std::string make(const Args& options = {}) {
    const std::string image = dir_.sparse("disk.img", 32 * kMiB);
    cryptsetup_format(image, Args{"--type", GetParam()} + options);
    return image;
  }
  TempDir dir_;
};

TEST_P(LuksHeader, UnlocksToTheKeyThatCryptsetupFinds) {
  const std::string image = make();
  EXPECT_EQ(our_volume_key(image), cryptsetup_volume_key(dir_, image));
}

TEST_P(LuksHeader, RefusesAWrongPassphrase) {
  const std::string image = make();
  const base::Error error = error_of([&] { our_volume_key(image, "wrong"); });
  EXPECT_EQ(error.kind(), Kind::passphrase);
  EXPECT_EQ(error.what(), image + ": no key available with this passphrase");
}

TEST_P(LuksHeader, TakesTheVolumeKeyItselfAndVerifiesIt) {
  const std::string image = make();
  std::string key = cryptsetup_volume_key(dir_, image);
  const Header header = Header::load(image, {}, Type::detect);
  base::SecretBuffer unlocked;
  EXPECT_EQ(header.unlock(credential(key, SecretKind::volume_key), -1, unlocked), -1);
  EXPECT_EQ(text_of(unlocked), key);

  key.back() = static_cast<char>(key.back() ^ 1);
  const auto unlock = [&] { header.unlock(credential(key, SecretKind::volume_key), -1, unlocked); };
  EXPECT_EQ(error_of(unlock).kind(), Kind::passphrase);
  key.pop_back();
  EXPECT_EQ(error_of(unlock).kind(), Kind::usage);
  EXPECT_THAT(error_of(unlock).what(), HasSubstr("a volume key of 63 bytes, expected 64"));
}

TEST_P(LuksHeader, NamesTheSlotThatOpens) {
  const std::string image = make();
  check(
      Args{"cryptsetup", "luksAddKey", "-q", "--key-slot", "5"} + kFastPbkdf + Args{image, dir_.file("new", "another")},
      {.input = kPassphrase});
  const Header header = Header::load(image, {}, Type::detect);
  base::SecretBuffer key;
  EXPECT_EQ(header.unlock(credential("another"), -1, key), 5);
  EXPECT_EQ(header.unlock(credential("another"), 5, key), 5);
  EXPECT_EQ(header.test_passphrase(credential(kPassphrase), -1), 0);
  EXPECT_EQ(error_of([&] { header.unlock(credential("another"), 0, key); }).kind(), Kind::passphrase);
}

TEST_P(LuksHeader, RefusesSlotsThatAreFreeOrDoNotExist) {
  const Header header = Header::load(make(), {}, Type::detect);
  base::SecretBuffer key;
  const base::Error free = error_of([&] { header.unlock(credential(kPassphrase), 3, key); });
  EXPECT_EQ(free.kind(), Kind::usage);
  EXPECT_THAT(free.what(), HasSubstr("key slot 3 is not in use"));
  for (const int slot : {-2, 32, 1000}) {
    const base::Error error = error_of([&] { header.unlock(credential(kPassphrase), slot, key); });
    EXPECT_EQ(error.kind(), Kind::usage) << slot;
    EXPECT_THAT(error.what(), HasSubstr("expected 0 to")) << slot;
  }
}

TEST_P(LuksHeader, DumpsTheTextThatCryptsetupPrints) {
  const std::string image = make();
  EXPECT_EQ(Header::load(image, {}, Type::detect).dump_text(), check({"cryptsetup", "luksDump", image}));
}

TEST_P(LuksHeader, TellsTheUuidThatCryptsetupTells) {
  const std::string image = make({"--uuid", "12345678-1234-1234-1234-123456789abc"});
  EXPECT_EQ(Header::load(image, {}, Type::detect).uuid(), "12345678-1234-1234-1234-123456789abc");
}

TEST_P(LuksHeader, ChangesNoByteOfTheImage) {
  const std::string image = make();
  const std::string before = sha256_of(image);
  const Header header = Header::load(image, {}, Type::detect);
  base::SecretBuffer key;
  header.unlock(credential(kPassphrase), -1, key);
  header.dump_text();
  header.data_segment(32 * kMiB);
  EXPECT_EQ(sha256_of(image), before);
}

TEST_P(LuksHeader, IsRefusedAsTheOtherVersion) {
  const std::string image = make();
  const bool is_luks1 = std::string(GetParam()) == "luks1";
  EXPECT_EQ(Header::load(image, {}, is_luks1 ? Type::luks1 : Type::luks2).type(), is_luks1 ? Type::luks1 : Type::luks2);
  const base::Error error = error_of([&] { Header::load(image, {}, is_luks1 ? Type::luks2 : Type::luks1); });
  EXPECT_EQ(error.kind(), Kind::format);
  EXPECT_THAT(error.what(), HasSubstr(is_luks1 ? "a LUKS1 volume, not LUKS2" : "a LUKS2 volume, not LUKS1"));
}

TEST_P(LuksHeader, ReadsADetachedHeader) {
  const std::string image = dir_.sparse("disk.img", 3 * kMiB);
  const std::string header = dir_ / "header";
  cryptsetup_format(image, {"--type", GetParam(), "--header", header});
  const Header loaded = Header::load(image, header, Type::detect);
  const volume::Segment segment = loaded.data_segment(3 * kMiB);
  EXPECT_EQ(segment.store_offset, 0u);
  EXPECT_EQ(segment.bytes, 3 * kMiB);
  base::SecretBuffer key;
  EXPECT_EQ(loaded.unlock(credential(kPassphrase), -1, key), 0);
}

TEST_P(LuksHeader, AsksForTheDataOfADetachedHeader) {
  const std::string header = dir_ / "header";
  cryptsetup_format(dir_.sparse("disk.img", 3 * kMiB), {"--type", GetParam(), "--header", header});
  const base::Error error = error_of([&] { Header::load(header, {}, Type::detect).data_segment(16 * kMiB); });
  EXPECT_EQ(error.kind(), Kind::usage);
  EXPECT_THAT(error.what(), HasSubstr("a detached header, the data is elsewhere"));
}

TEST_P(LuksHeader, HonoursTheDataOffsetOfADetachedHeader) {
  const std::string image = dir_.sparse("disk.img", 8 * kMiB);
  const std::string header = dir_ / "header";
  cryptsetup_format(image, {"--type", GetParam(), "--header", header, "--offset", "8192"});
  const volume::Segment segment = Header::load(image, header, Type::detect).data_segment(8 * kMiB);
  EXPECT_EQ(segment.store_offset, 4 * kMiB);
  EXPECT_EQ(segment.bytes, 4 * kMiB);
}

TEST_P(LuksHeader, RefusesDataBeyondTheEndOfTheImage) {
  const std::string image = make();
  const Header header = Header::load(image, {}, Type::detect);
  const std::uint64_t offset = header.data_segment(32 * kMiB).store_offset;
  for (const std::uint64_t bytes : {offset, offset - 1, std::uint64_t{0}}) {
    const base::Error error = error_of([&] { header.data_segment(bytes); });
    EXPECT_EQ(error.kind(), Kind::format);
    EXPECT_THAT(error.what(), HasSubstr("the data begins at byte " + std::to_string(offset) + ", the image has " +
                                        std::to_string(bytes)));
  }
  EXPECT_THAT(error_of([&] { header.data_segment(offset + 511); }).what(), HasSubstr("no room for a sector"));
}

INSTANTIATE_TEST_SUITE_P(Versions, LuksHeader, testing::Values("luks1", "luks2"),
                         [](const auto& test) { return std::string(test.param); });

TEST(NoHeader, SaysWhatTheImageIsInstead) {
  NBDCRYPT_REQUIRE_TOOL("mkfs.ext4");
  TempDir dir;
  const std::string image = dir.sparse("disk.img", 4 * kMiB);
  check({"mkfs.ext4", "-q", image});
  const base::Error error = error_of([&] { Header::load(image, {}, Type::detect); });
  EXPECT_EQ(error.kind(), Kind::format);
  EXPECT_EQ(error.what(), image + ": not a LUKS volume");
  EXPECT_EQ(error.hint(), "there is a ext4 file system");
}

TEST(NoHeader, HintsAtPlainVolumes) {
  TempDir dir;
  for (const std::uint64_t bytes : {std::uint64_t{0}, std::uint64_t{100}, 4 * kMiB}) {
    const std::string image = dir.sparse("disk.img", bytes);
    const base::Error error = error_of([&] { Header::load(image, {}, Type::detect); });
    EXPECT_EQ(error.kind(), Kind::format);
    EXPECT_EQ(error.what(), image + ": not a LUKS volume");
    EXPECT_THAT(error.hint(), HasSubstr("--type plain"));
  }
}

TEST(NoHeader, MissingFilesAndFoldersAreDeviceErrors) {
  TempDir dir;
  for (const std::string& path : {dir / "missing", dir.path(), std::string("/dev/null")}) {
    const base::Error error = error_of([&] { Header::load(path, {}, Type::detect); });
    EXPECT_EQ(error.kind(), Kind::device) << path;
    EXPECT_THAT(error.what(), StartsWith(path));
  }
  EXPECT_EQ(error_of([&] { Header::load(dir.sparse("disk.img", kMiB), dir / "missing", Type::detect); }).kind(),
            Kind::device);
}

TEST_F(Luks2Header, DumpsTheJsonThatCryptsetupPrints) {
  EXPECT_EQ(nlohmann::json::parse(load().dump_json()),
            nlohmann::json::parse(check({"cryptsetup", "luksDump", "--dump-json-metadata", image_})));
}

TEST(Luks1Header, DumpsJsonInTheShapeOfLuks2) {
  NBDCRYPT_REQUIRE_TOOL("cryptsetup");
  TempDir dir;
  const std::string image = dir.sparse("disk.img", 32 * kMiB);
  cryptsetup_format(image, {"--type", "luks1", "--hash", "sha512"});
  const auto json = nlohmann::json::parse(Header::load(image, {}, Type::detect).dump_json());
  EXPECT_EQ(json["keyslots"].size(), 1u);
  EXPECT_EQ(json["keyslots"]["0"]["kdf"]["iterations"], 1000);
  EXPECT_EQ(json["keyslots"]["0"]["kdf"]["hash"], "sha512");
  EXPECT_EQ(json["keyslots"]["0"]["key_size"], 64);
  EXPECT_EQ(json["keyslots"]["0"]["area"]["offset"], "4096");
  EXPECT_EQ(json["keyslots"]["0"]["area"]["encryption"], "aes-xts-plain64");
  EXPECT_EQ(json["segments"]["0"]["encryption"], "aes-xts-plain64");
  EXPECT_EQ(json["segments"]["0"]["offset"], std::to_string(2 * kMiB));
  EXPECT_EQ(json["digests"]["0"]["hash"], "sha512");
  for (const char* key : {"keyslots", "tokens", "segments", "digests", "config"})
    EXPECT_TRUE(json.contains(key)) << key;
}

TEST_F(Luks2Header, PrefersAndIgnoresSlotsByTheirPriority) {
  check(Args{"cryptsetup", "luksAddKey", "-q", "--key-slot", "1"} + kFastPbkdf +
            Args{image_, dir_.file("same", kPassphrase)},
        {.input = kPassphrase});
  base::SecretBuffer key;
  check({"cryptsetup", "config", "--key-slot", "1", "--priority", "prefer", image_});
  EXPECT_EQ(load().unlock(credential(kPassphrase), -1, key), 1);
  check({"cryptsetup", "config", "--key-slot", "1", "--priority", "ignore", image_});
  check({"cryptsetup", "config", "--key-slot", "0", "--priority", "ignore", image_});
  EXPECT_EQ(error_of([&] { load().unlock(credential(kPassphrase), -1, key); }).kind(), Kind::unsupported);
  EXPECT_EQ(load().unlock(credential(kPassphrase), 1, key), 1);
}

TEST_F(Luks2Header, KnowsPersistentDiscards) {
  EXPECT_FALSE(load().flag_allow_discards());
  edit_luks2(image_, [](nlohmann::json& metadata) { metadata["config"]["flags"] = {"allow-discards"}; });
  EXPECT_TRUE(load().flag_allow_discards());
}

TEST_F(Luks2Header, TokensAreLeftAlone) {
  check({"cryptsetup", "token", "import", "--json-file",
         dir_.file("token", R"({"type":"some-token","keyslots":["0"],"data":"x"})"), image_});
  const std::string before = sha256_of(image_);
  base::SecretBuffer key;
  EXPECT_EQ(load().unlock(credential(kPassphrase), -1, key), 0);
  EXPECT_THAT(load().dump_text(), HasSubstr("some-token"));
  EXPECT_EQ(sha256_of(image_), before);
}

}  // namespace
}  // namespace nbdcrypt::test
