// SPDX-License-Identifier: Apache-2.0
//
// From options and a secret to a volume.
#include "volume/open.h"

#include <gmock/gmock.h>

#include "tests/volume/luks_fixtures.h"
#include "volume/file_store.h"

namespace nbdcrypt::test {
namespace {

using base::Kind;
using testing::AllOf;
using testing::HasSubstr;
using volume::OpenOptions;
using volume::SecretKind;
using volume::Type;
using volume::Unlocked;

/// What is asked for explicitly of a plain volume.
OpenOptions plain(const std::string& image) {
  OpenOptions options{.image = image, .type = Type::plain};
  options.cipher = "aes-xts-plain64";
  options.key_size_bits = 256;
  options.hash = "sha256";
  return options;
}

std::string write_and_read_back(const OpenOptions& options, const volume::Credential& secret, const std::string& text) {
  const auto opened = volume::open_volume(options, volume::unlock(options, secret));
  opened->write(0, bytes_of(text));
  opened->flush();
  std::string back(text.size(), '\0');
  opened->read(0, {reinterpret_cast<base::Byte*>(back.data()), back.size()});
  return back;
}

TEST(ParseType, KnowsOursAndNamesTheOthers) {
  EXPECT_EQ(volume::parse_type("luks"), Type::detect);
  EXPECT_EQ(volume::parse_type("auto"), Type::detect);
  EXPECT_EQ(volume::parse_type("luks1"), Type::luks1);
  EXPECT_EQ(volume::parse_type("luks2"), Type::luks2);
  EXPECT_EQ(volume::parse_type("plain"), Type::plain);
  for (const char* other : {"loopaes", "tcrypt", "bitlk", "fvault2"}) {
    const base::Error error = error_of([&] { volume::parse_type(other); });
    EXPECT_EQ(error.kind(), Kind::unsupported);
    EXPECT_THAT(error.what(), HasSubstr(other));
  }
  EXPECT_EQ(error_of([] { volume::parse_type("LUKS"); }).kind(), Kind::usage);
}

TEST(OpenLuks, KeepsWhatIsWritten) {
  for (const Type type : {Type::luks1, Type::luks2}) {
    TempDir dir;
    const std::string image = dir.sparse("disk.img", 20 * kMiB), text(10000, 't');
    volume::format({.image = image, .type = type, .pbkdf = fast_pbkdf()}, bytes_of(kPassphrase), {});
    EXPECT_EQ(write_and_read_back({.image = image}, credential(kPassphrase), text), text);
    EXPECT_EQ(read_file(image).find(text), std::string::npos) << "the image holds plaintext";
  }
}

TEST(OpenLuks, WithADetachedHeaderUsesTheWholeImage) {
  TempDir dir;
  const std::string image = dir.sparse("disk.img", 4 * kMiB), header = dir / "header";
  volume::format({.image = image, .header = header, .pbkdf = fast_pbkdf()}, bytes_of(kPassphrase), {});
  const OpenOptions options{.image = image, .header = header};
  const auto opened = volume::open_volume(options, volume::unlock(options, credential(kPassphrase)));
  EXPECT_EQ(opened->size(), 4 * kMiB);
}

TEST(OpenLuks, TellsWhatAServerNeeds) {
  TempDir dir;
  const std::string image = dir.sparse("disk.img", 20 * kMiB);
  volume::format(
      {.image = image, .pbkdf = fast_pbkdf(), .sector_size = 4096, .uuid = "12345678-1234-1234-1234-123456789abc"},
      bytes_of(kPassphrase), {});
  OpenOptions options{.image = image};
  const Unlocked unlocked = volume::unlock(options, credential(kPassphrase));
  EXPECT_EQ(unlocked.type, Type::luks2);
  EXPECT_EQ(unlocked.uuid, "12345678-1234-1234-1234-123456789abc");
  EXPECT_EQ(unlocked.key_slot, 0);
  EXPECT_FALSE(unlocked.allow_discards);
  EXPECT_EQ(unlocked.segment.bytes, 4 * kMiB);
  options.backend = "generic";
  EXPECT_EQ(volume::describe(unlocked, *volume::open_volume(options, unlocked)),
            "LUKS2 aes-xts-plain64, 512-bit key, 4096-byte sectors, generic");
  const Unlocked again = volume::unlock(options, credential(text_of(unlocked.volume_key), SecretKind::volume_key));
  EXPECT_EQ(again.key_slot, -1);
  EXPECT_EQ(text_of(again.volume_key), text_of(unlocked.volume_key));
}

TEST(OpenLuks, RefusesBeforeItDerivesAnything) {
  TempDir dir;
  const std::string image = dir.sparse("disk.img", 20 * kMiB);
  volume::format({.image = image, .pbkdf = fast_pbkdf()}, bytes_of(kPassphrase), {});
  std::filesystem::resize_file(image, 16 * kMiB);
  const base::Error error = error_of([&] { volume::unlock({.image = image}, credential("wrong")); });
  EXPECT_EQ(error.kind(), Kind::format);
  EXPECT_THAT(error.what(), HasSubstr("the data begins at byte 16777216"));
}

TEST(OpenLuks, LocksTheImageAgainstASecondServer) {
  TempDir dir;
  const std::string image = dir.sparse("disk.img", 20 * kMiB);
  volume::format({.image = image, .pbkdf = fast_pbkdf()}, bytes_of(kPassphrase), {});
  OpenOptions options{.image = image};
  const Unlocked unlocked = volume::unlock(options, credential(kPassphrase));
  const auto first = volume::open_volume(options, unlocked);
  EXPECT_EQ(error_of([&] { volume::open_volume(options, unlocked); }).kind(), Kind::busy);
  EXPECT_EQ(volume::test_passphrase(options, credential(kPassphrase)), 0) << "the header may be read meanwhile";
  options.read_only = true;
  EXPECT_EQ(error_of([&] { volume::open_volume(options, unlocked); }).kind(), Kind::busy);
}

TEST(OpenLuks, ReadersShareTheImageAndCannotWrite) {
  TempDir dir;
  const std::string image = dir.sparse("disk.img", 20 * kMiB);
  volume::format({.image = image, .pbkdf = fast_pbkdf()}, bytes_of(kPassphrase), {});
  const OpenOptions options{.image = image, .read_only = true};
  const Unlocked unlocked = volume::unlock(options, credential(kPassphrase));
  const auto first = volume::open_volume(options, unlocked), second = volume::open_volume(options, unlocked);
  EXPECT_TRUE(first->read_only());
  EXPECT_THROW(second->write(0, bytes_of("x")), base::Error);
}

TEST(OpenLuks, NoticesAnImageThatWasCutShortMeanwhile) {
  TempDir dir;
  const std::string image = dir.sparse("disk.img", 20 * kMiB);
  volume::format({.image = image, .pbkdf = fast_pbkdf()}, bytes_of(kPassphrase), {});
  const Unlocked unlocked = volume::unlock({.image = image}, credential(kPassphrase));
  std::filesystem::resize_file(image, 18 * kMiB);
  EXPECT_EQ(error_of([&] { volume::open_volume({.image = image}, unlocked); }).kind(), Kind::format);
}

TEST(OpenLuks, RefusesAnUnknownBackendByName) {
  TempDir dir;
  const std::string image = dir.sparse("disk.img", 20 * kMiB);
  volume::format({.image = image, .pbkdf = fast_pbkdf()}, bytes_of(kPassphrase), {});
  OpenOptions options{.image = image, .backend = "no-such-backend"};
  const Unlocked unlocked = volume::unlock(options, credential(kPassphrase));
  const base::Error error = error_of([&] { volume::open_volume(options, unlocked); });
  EXPECT_EQ(error.kind(), Kind::usage);
  EXPECT_THAT(error.what(), HasSubstr("no-such-backend"));
}

TEST(OpenLuks, ImageAndHeaderMustBeThere) {
  TempDir dir;
  const std::string image = dir.sparse("disk.img", 4 * kMiB);
  EXPECT_EQ(error_of([&] { volume::unlock({.image = dir / "missing"}, credential("x")); }).kind(), Kind::device);
  EXPECT_EQ(error_of([&] { volume::unlock({.image = dir.path()}, credential("x")); }).kind(), Kind::device);
  EXPECT_EQ(error_of([&] { volume::unlock({.image = image, .header = dir / "missing"}, credential("x")); }).kind(),
            Kind::device);
  const base::Error error = error_of([&] { volume::unlock({.image = image}, credential("x")); });
  EXPECT_EQ(error.kind(), Kind::format);
  EXPECT_EQ(error.what(), image + ": not a LUKS volume");
}

TEST(OpenPlain, KeepsWhatIsWritten) {
  TempDir dir;
  for (const char* cipher : {"aes-xts-plain64", "aes-cbc-essiv:sha256", "aes-cbc-plain", "aes-ecb"}) {
    OpenOptions options = plain(dir.sparse("disk.img", kMiB));
    options.cipher = cipher;
    EXPECT_EQ(write_and_read_back(options, credential("xxx"), "the text"), "the text") << cipher;
    EXPECT_EQ(read_file(options.image).find("the text"), std::string::npos) << cipher;
  }
}

TEST(OpenPlain, HasNoDefaultsAndNamesThoseOfBothVersions) {
  TempDir dir;
  const std::string image = dir.sparse("disk.img", kMiB);
  const base::Error all = error_of([&] { volume::unlock({.image = image, .type = Type::plain}, credential("xxx")); });
  EXPECT_EQ(all.kind(), Kind::usage);
  EXPECT_THAT(all.what(),
              AllOf(HasSubstr("plain: needs --cipher, --key-size, --hash ("),
                    HasSubstr("2.6 aes-cbc-essiv:sha256, 256, ripemd160"), HasSubstr("aes-xts-plain64, 256, sha256")));
  OpenOptions no_hash = plain(image);
  no_hash.hash.reset();
  EXPECT_THAT(error_of([&] { volume::unlock(no_hash, credential("xxx")); }).what(), HasSubstr("needs --hash ("));
  EXPECT_NO_THROW(volume::unlock(no_hash, credential(std::string(32, 'k'), SecretKind::key_file)));
  EXPECT_NO_THROW(volume::unlock(no_hash, credential(std::string(32, 'k'), SecretKind::volume_key)));
}

TEST(OpenPlain, PlacesTheVolumeByOffsetSkipAndSize) {
  TempDir dir;
  OpenOptions options = plain(dir.sparse("disk.img", kMiB + 100));
  EXPECT_EQ(volume::unlock(options, credential("xxx")).segment.bytes, kMiB)
      << "what is left of a sector belongs to nobody";
  options.offset_sectors = 8;
  options.skip_sectors = 5;
  Unlocked unlocked = volume::unlock(options, credential("xxx"));
  EXPECT_EQ(unlocked.type, Type::plain);
  EXPECT_EQ(unlocked.segment.store_offset, 4096u);
  EXPECT_EQ(unlocked.segment.bytes, kMiB - 4096);
  EXPECT_EQ(unlocked.segment.layout.first_iv, 5u);
  options.size_sectors = 16;
  EXPECT_EQ(volume::unlock(options, credential("xxx")).segment.bytes, 8192u);
}

TEST(OpenPlain, TakesLargeSectorsAndTheirIvs) {
  TempDir dir;
  OpenOptions options = plain(dir.sparse("disk.img", kMiB));
  options.sector_size = 4096;
  options.iv_large_sectors = true;
  options.skip_sectors = 16;
  const Unlocked unlocked = volume::unlock(options, credential("xxx"));
  EXPECT_EQ(unlocked.segment.layout.sector_bytes, 4096u);
  EXPECT_EQ(unlocked.segment.layout.first_iv, 16u);
  EXPECT_TRUE(unlocked.segment.layout.iv_large_sectors);
  EXPECT_THAT(volume::describe(unlocked, *volume::open_volume(options, unlocked)),
              testing::StartsWith("plain aes-xts-plain64, 256-bit key, 4096-byte sectors, "));
}

TEST(OpenPlain, RefusesWhatDmCryptWouldRefuse) {
  struct Case {
    const char* said;
    std::function<void(OpenOptions&)> set;
  };
  TempDir dir;
  const std::string image = dir.sparse("disk.img", kMiB), odd = dir.sparse("odd.img", kMiB + 512),
                    empty = dir.sparse("empty.img", 0);
  for (const Case& c : std::initializer_list<Case>{
           {"sectors of 1000 bytes", [](OpenOptions& o) { o.sector_size = 1000; }},
           {"sectors of 8192 bytes", [](OpenOptions& o) { o.sector_size = 8192; }},
           {"sectors of 0 bytes", [](OpenOptions& o) { o.sector_size = 0; }},
           {"--iv-large-sectors needs sectors larger", [](OpenOptions& o) { o.iv_large_sectors = true; }},
           {"size 12: not a whole number of 4096-byte",
            [](OpenOptions& o) { o.sector_size = 4096, o.size_sectors = 12; }},
           {"skip 12: not a whole number of 4096-byte",
            [](OpenOptions& o) { o.sector_size = 4096, o.skip_sectors = 12; }},
           {"1049088 bytes of data are not a whole number",
            [&](OpenOptions& o) { o.image = odd, o.sector_size = 4096; }},
           {"offset 2048: beyond the end, the image has 1048576", [](OpenOptions& o) { o.offset_sectors = 2048; }},
           {"offset 18446744073709551615: too large", [](OpenOptions& o) { o.offset_sectors = UINT64_MAX; }},
           {"size 18446744073709551608: too large", [](OpenOptions& o) { o.size_sectors = UINT64_MAX - 7; }},
           {"size 2049 from offset 0, the image has 1048576", [](OpenOptions& o) { o.size_sectors = 2049; }},
           {"size 2048 from offset 8, the image has",
            [](OpenOptions& o) { o.offset_sectors = 8, o.size_sectors = 2048; }},
           {"offset 0: beyond the end, the image has 0", [&](OpenOptions& o) { o.image = empty; }},
           {"a key of 100 bits", [](OpenOptions& o) { o.key_size_bits = 100; }},
           {"a key of 0 bits", [](OpenOptions& o) { o.key_size_bits = 0; }},
           {"a key of 128 bits", [](OpenOptions& o) { o.key_size_bits = 128; }},
           {"has no header", [](OpenOptions& o) { o.header = "header"; }},
           {"has no key slots", [](OpenOptions& o) { o.key_slot = 0; }},
           {"hash no-such-hash", [](OpenOptions& o) { o.hash = "no-such-hash"; }},
       }) {
    OpenOptions options = plain(image);
    c.set(options);
    const base::Error error = error_of([&] { volume::unlock(options, credential("xxx")); });
    EXPECT_EQ(error.kind(), Kind::usage) << c.said;
    EXPECT_THAT(error.what(), HasSubstr(c.said));
  }
}

TEST(OpenPlain, RefusesAnEssivHashThatIsNoAesKey) {
  TempDir dir;
  OpenOptions options = plain(dir.sparse("disk.img", kMiB));
  for (const auto& [hash, why] :
       std::initializer_list<std::pair<const char*, const char*>>{{"sha1", "gives 20 bytes"},
                                                                  {"ripemd160", "gives 20 bytes"},
                                                                  {"sha512", "gives 64 bytes"},
                                                                  {"no-such-hash", "is not known"}}) {
    options.cipher = std::string("aes-cbc-essiv:") + hash;
    const base::Error error = error_of([&] { volume::unlock(options, credential("xxx")); });
    EXPECT_EQ(error.kind(), Kind::unsupported) << hash;
    EXPECT_THAT(error.what(), AllOf(HasSubstr(hash), HasSubstr(why)));
  }
}

TEST(OpenPlain, HasNoPassphraseToTest) {
  TempDir dir;
  EXPECT_EQ(error_of([&] { volume::test_passphrase(plain(dir.sparse("disk.img", kMiB)), credential("x")); }).kind(),
            Kind::usage);
}

}  // namespace
}  // namespace nbdcrypt::test
