// SPDX-License-Identifier: Apache-2.0
//
// The data segment of a header, and what is refused by name.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/volume/luks2_editor.h"
#include "tests/volume/luks_fixtures.h"

namespace nbdcrypt::test {
namespace {

using base::Kind;
using testing::HasSubstr;
using volume::Header;
using volume::Type;

TEST(Luks1Header, RefusesByNameWhatItCannotServe) {
  NBDCRYPT_REQUIRE_TOOL("cryptsetup");
  constexpr std::uint64_t kCipherNameAt = 8, kCipherModeAt = 40,
                          kKeyBytesAt = 108;  // struct luks_phdr of the LUKS1 format
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
           {"type linear",
            [&](auto& m) {
              m["segments"]["0"] = {{"type", "linear"}, {"offset", "16777216"}, {"size", "dynamic"}};
            }},
           {"type hw-opal",
            [&](auto& m) {
              m["segments"]["0"] = {{"type", "hw-opal"}, {"offset", "16777216"}, {"size", "dynamic"}};
            }},
           {"integrity hmac(sha256)",
            [&](auto& m) {
              segment(m)["integrity"] = {
                  {"type", "hmac(sha256)"}, {"journal_encryption", "none"}, {"journal_integrity", "none"}};
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
           {"requires some-feature",
            [&](auto& m) {
              m["config"]["requirements"] = {{"mandatory", {"some-feature"}}};
            }},
           {"reencryption is in progress (offline-reencrypt)",
            [&](auto& m) {
              m["config"]["requirements"] = {{"mandatory", {"offline-reencrypt"}}};
            }},
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
  check(Args{"cryptsetup", "reencrypt", "-q", "--init-only", "--force-offline-reencrypt"} + kFastPbkdf + Args{image},
        {.input = kPassphrase});
  const Header header = Header::load(image, {}, Type::detect);
  const base::Error error = error_of([&] { header.data_segment(64 * kMiB); });
  EXPECT_EQ(error.kind(), Kind::unsupported);
  EXPECT_THAT(error.what(), HasSubstr("reencryption is in progress (online-reencrypt"));
  EXPECT_THAT(error.hint(), HasSubstr("--resume-only"));
}

}  // namespace
}  // namespace nbdcrypt::test
