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

class Luks2Header : public testing::Test {
 protected:
  void SetUp() override {
    NBDCRYPT_REQUIRE_TOOL("cryptsetup");
    image_ = dir_.sparse("disk.img", 32 * kMiB);
    cryptsetup_format(image_, {"--type", "luks2"});
  }
  Header load() const { return Header::load(image_, {}, Type::detect); }
  TempDir dir_;
  std::string image_;
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
  check(Args{"cryptsetup", "luksAddKey", "-q", "--key-slot", "5"} + kFastPbkdf + Args{image, dir_.file("new", "another")},
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
    EXPECT_THAT(error.what(), HasSubstr("the data begins at byte " + std::to_string(offset) + ", the image has " + std::to_string(bytes)));
  }
  EXPECT_THAT(error_of([&] { header.data_segment(offset + 511); }).what(), HasSubstr("no room for a sector"));
}

INSTANTIATE_TEST_SUITE_P(Versions, LuksHeader, testing::Values("luks1", "luks2"), [](const auto& test) { return std::string(test.param); });

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
  EXPECT_EQ(error_of([&] { Header::load(dir.sparse("disk.img", kMiB), dir / "missing", Type::detect); }).kind(), Kind::device);
}

TEST_F(Luks2Header, DumpsTheJsonThatCryptsetupPrints) {
  EXPECT_EQ(nlohmann::json::parse(load().dump_json()), nlohmann::json::parse(check({"cryptsetup", "luksDump", "--dump-json-metadata", image_})));
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
  for (const char* key : {"keyslots", "tokens", "segments", "digests", "config"}) EXPECT_TRUE(json.contains(key)) << key;
}

TEST(Luks1Header, RefusesByNameWhatItCannotServe) {
  NBDCRYPT_REQUIRE_TOOL("cryptsetup");
  constexpr std::uint64_t kCipherNameAt = 8, kCipherModeAt = 40, kKeyBytesAt = 108;  // struct luks_phdr of the LUKS1 format
  struct Case {
    std::uint64_t offset;
    std::string bytes;
    const char* said;
  };
  for (const Case& c : std::initializer_list<Case>{
           {kCipherNameAt, std::string("serpent"), "cipher serpent is not supported"},
           {kCipherModeAt, std::string("lrw-benbi\0", 10), "mode lrw is not supported"},
           {kCipherModeAt, std::string("cbc-essiv:sha1\0", 15), "hash sha1 gives 20 bytes"},
           {kKeyBytesAt, std::string("\0\0\0\x30", 4), "aes-xts-plain64 with a 384-bit key"},
       }) {
    TempDir dir;
    const std::string image = dir.sparse("disk.img", 4 * kMiB);
    cryptsetup_format(image, {"--type", "luks1", "-s", c.bytes.starts_with("cbc") ? "256" : "512"});
    poke(image, c.offset, c.bytes);
    const base::Error error = error_of([&] { Header::load(image, {}, Type::detect).data_segment(4 * kMiB); });
    EXPECT_EQ(error.kind(), Kind::unsupported) << c.said;
    EXPECT_THAT(error.what(), HasSubstr(c.said));
  }
}

TEST_F(Luks2Header, RefusesXtsWith384BitsByName) {
  edit_luks2(image_, [](nlohmann::json& metadata) { metadata["keyslots"]["0"]["key_size"] = 48; });
  const base::Error error = error_of([&] { load().data_segment(32 * kMiB); });
  EXPECT_EQ(error.kind(), Kind::unsupported);
  EXPECT_THAT(error.what(), HasSubstr("aes-xts-plain64 with a 384-bit key"));
}

TEST_F(Luks2Header, RefusesAnEssivHashThatIsNoAesKey) {
  cryptsetup_format(image_, {"--type", "luks2", "-c", "aes-cbc-essiv:sha256", "-s", "256"});
  edit_luks2(image_, [](nlohmann::json& metadata) { metadata["segments"]["0"]["encryption"] = "aes-cbc-essiv:sha1"; });
  const base::Error error = error_of([&] { load().data_segment(32 * kMiB); });
  EXPECT_EQ(error.kind(), Kind::unsupported);
  EXPECT_THAT(error.what(), HasSubstr("hash sha1 gives 20 bytes, an AES key has 16, 24 or 32"));
}

TEST_F(Luks2Header, PrefersAndIgnoresSlotsByTheirPriority) {
  check(Args{"cryptsetup", "luksAddKey", "-q", "--key-slot", "1"} + kFastPbkdf + Args{image_, dir_.file("same", kPassphrase)},
        {.input = kPassphrase});
  base::SecretBuffer key;
  check({"cryptsetup", "config", "--key-slot", "1", "--priority", "prefer", image_});
  EXPECT_EQ(load().unlock(credential(kPassphrase), -1, key), 1);
  check({"cryptsetup", "config", "--key-slot", "1", "--priority", "ignore", image_});
  check({"cryptsetup", "config", "--key-slot", "0", "--priority", "ignore", image_});
  EXPECT_EQ(error_of([&] { load().unlock(credential(kPassphrase), -1, key); }).kind(), Kind::unsupported);
  EXPECT_EQ(load().unlock(credential(kPassphrase), 1, key), 1);
}

TEST_F(Luks2Header, TakesTheSegmentFromTheMetadata) {
  cryptsetup_format(image_, {"--type", "luks2", "--sector-size", "4096", "-c", "aes-cbc-essiv:sha256", "-s", "192"});
  const volume::Segment segment = load().data_segment(32 * kMiB + 4095);
  EXPECT_EQ(segment.store_offset, 16 * kMiB);
  EXPECT_EQ(segment.bytes, 16 * kMiB);
  EXPECT_EQ(segment.cipher.text(), "aes-cbc-essiv:sha256");
  EXPECT_EQ(segment.layout.sector_bytes, 4096u);
  EXPECT_EQ(segment.layout.first_iv, 0u);
}

TEST_F(Luks2Header, TakesIvTweakAndAFixedSize) {
  edit_luks2(image_, [](nlohmann::json& metadata) {
    metadata["segments"]["0"]["iv_tweak"] = "8000";
    metadata["segments"]["0"]["size"] = "8192";
  });
  const volume::Segment segment = load().data_segment(32 * kMiB);
  EXPECT_EQ(segment.layout.first_iv, 8000u);
  EXPECT_EQ(segment.bytes, 8192u);
  const base::Error error = error_of([&] { load().data_segment(16 * kMiB + 4096); });
  EXPECT_EQ(error.kind(), Kind::format);
  EXPECT_THAT(error.what(), HasSubstr("has 8192 bytes, the image has 16781312"));
}

TEST_F(Luks2Header, RefusesWhatItCannotServeByName) {
  struct Case {
    const char* said;
    std::function<void(nlohmann::json&)> edit;
  };
  const std::string original = read_file(image_);
  const auto segment = [](nlohmann::json& metadata) -> nlohmann::json& { return metadata["segments"]["0"]; };
  for (const Case& c : std::initializer_list<Case>{
           {"type linear", [&](auto& m) { m["segments"]["0"] = {{"type", "linear"}, {"offset", "16777216"}, {"size", "dynamic"}}; }},
           {"type hw-opal", [&](auto& m) { m["segments"]["0"] = {{"type", "hw-opal"}, {"offset", "16777216"}, {"size", "dynamic"}}; }},
           {"integrity hmac(sha256)",
            [&](auto& m) {
              segment(m)["integrity"] = {{"type", "hmac(sha256)"}, {"journal_encryption", "none"}, {"journal_integrity", "none"}};
            }},
           {"flag some-flag", [&](auto& m) { segment(m)["flags"] = {"some-flag"}; }},
           {"2 data segments",
            [&](auto& m) {
              segment(m)["size"] = "4096";
              m["segments"]["1"] = segment(m);
              m["segments"]["1"]["offset"] = "16781312";
              m["segments"]["1"]["size"] = "dynamic";
              m["digests"]["0"]["segments"] = {"0", "1"};
            }},
           {"mode lrw", [&](auto& m) { segment(m)["encryption"] = "aes-lrw-benbi"; }},
           {"cipher_null", [&](auto& m) { segment(m)["encryption"] = "cipher_null-ecb"; }},
           {"serpent", [&](auto& m) { segment(m)["encryption"] = "serpent-xts-plain64"; }},
           {"capi:", [&](auto& m) { segment(m)["encryption"] = "capi:xts(ecb(aes-generic))-plain64"; }},
           {"sectors of 8192 bytes", [&](auto& m) { segment(m)["sector_size"] = 8192; }},
           {"requires some-feature", [&](auto& m) { m["config"]["requirements"] = {{"mandatory", {"some-feature"}}}; }},
           {"reencryption is in progress (offline-reencrypt)",
            [&](auto& m) { m["config"]["requirements"] = {{"mandatory", {"offline-reencrypt"}}}; }},
       }) {
    std::ofstream(image_, std::ios::binary) << original;
    edit_luks2(image_, c.edit);
    const base::Error error = error_of([&] { load().data_segment(32 * kMiB); });
    EXPECT_EQ(error.kind(), Kind::unsupported) << c.said;
    EXPECT_THAT(error.what(), HasSubstr(c.said));
    EXPECT_FALSE(load().dump_text().empty()) << c.said;
    EXPECT_EQ(load().test_passphrase(credential(kPassphrase), -1), 0) << c.said;
  }
}

TEST_F(Luks2Header, RefusesAnIvTweakInsideASector) {
  edit_luks2(image_, [](nlohmann::json& metadata) {
    metadata["segments"]["0"]["sector_size"] = 4096;
    metadata["segments"]["0"]["iv_tweak"] = "4";
  });
  const base::Error error = error_of([&] { load().data_segment(32 * kMiB); });
  EXPECT_EQ(error.kind(), Kind::format);
  EXPECT_THAT(error.what(), HasSubstr("iv_tweak 4"));
}

TEST_F(Luks2Header, RefusesReencryptionInProgressByName) {
  const std::string image = dir_.sparse("reencrypt.img", 64 * kMiB);
  cryptsetup_format(image, {"--type", "luks2"});
  check(Args{"cryptsetup", "reencrypt", "-q", "--init-only", "--force-offline-reencrypt"} + kFastPbkdf + Args{image}, {.input = kPassphrase});
  const Header header = Header::load(image, {}, Type::detect);
  const base::Error error = error_of([&] { header.data_segment(64 * kMiB); });
  EXPECT_EQ(error.kind(), Kind::unsupported);
  EXPECT_THAT(error.what(), HasSubstr("reencryption is in progress (online-reencrypt"));
  EXPECT_THAT(error.hint(), HasSubstr("--resume-only"));
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
  EXPECT_THAT(error.what(), HasSubstr("one copy of the LUKS2 header is damaged, and the device holds a isw_raid_member volume"));
  EXPECT_THAT(error.hint(), HasSubstr("cryptsetup repair"));
  EXPECT_EQ(sha256_of(image_), before);
}

TEST_F(Luks2Header, OpensBesideAnotherSignatureWhileBothCopiesAreSound) {
  put_raid_signature(image_);
  EXPECT_EQ(load().test_passphrase(credential(kPassphrase), -1), 0);
}

INSTANTIATE_TEST_SUITE_P(Copies, Luks2Recovery, testing::Values(0, 64, 4096 + 5, 16384, 16384 + 64, 16384 + 4096 + 5),
                         [](const auto& test) { return "at_" + std::to_string(test.param); });

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
