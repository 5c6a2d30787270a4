// SPDX-License-Identifier: Apache-2.0
//
// New headers, against those that cryptsetup makes with the same options.
#include <gmock/gmock.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <regex>

#include "tests/volume/loop_device.h"
#include "tests/volume/luks_fixtures.h"
#include "volume/file_store.h"
#include "volume/image_lock.h"

namespace nbdcrypt::test {
namespace {

using base::Kind;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using volume::FormatOptions;
using volume::Type;

constexpr const char* kUuid = "12345678-1234-1234-1234-123456789abc";

std::vector<std::string> format(const FormatOptions& options, const std::string& volume_key = {}) {
  return volume::format(options, bytes_of(kPassphrase), bytes_of(volume_key));
}

FormatOptions fast(const std::string& image, Type type = Type::luks2) {
  return {.image = image, .type = type, .pbkdf = fast_pbkdf(), .uuid = kUuid};
}

/// A dump without what is random.
std::string comparable_dump(const std::string& path) {
  std::string text = check({"cryptsetup", "luksDump", path});
  text = std::regex_replace(text, std::regex("(^|\n)[^\n]*([0-9a-f]{2} ){8}[^\n]*"), "");
  return std::regex_replace(text, std::regex("for [^\n]*"), "");
}

/// The same options in our words and in cryptsetup's, for an image of some size.
struct Recipe {
  const char* name;
  std::uint64_t bytes;
  std::function<void(FormatOptions&)> ours;
  Args cryptsetups;
  friend void PrintTo(const Recipe& recipe, std::ostream* out) { *out << recipe.name; }
};

const Recipe kRecipes[] = {
    {"luks1", 8 * kMiB, [](FormatOptions& o) { o.type = Type::luks1; }, {"--type", "luks1"}},
    {"luks1_cbc_128_sha512",
     8 * kMiB,
     [](FormatOptions& o) {
       o.type = Type::luks1, o.cipher = "aes-cbc-essiv:sha256", o.key_size_bits = 128, o.hash = "sha512";
     },
     {"--type", "luks1", "-c", "aes-cbc-essiv:sha256", "-s", "128", "--hash", "sha512"}},
    {"luks1_offset_and_slot",
     8 * kMiB,
     [](FormatOptions& o) { o.type = Type::luks1, o.offset_sectors = 8192, o.key_slot = 7; },
     {"--type", "luks1", "--offset", "8192", "--key-slot", "7"}},
    {"luks2", 20 * kMiB, [](FormatOptions&) {}, {}},
    {"luks2_size_of_half_sectors", 20 * kMiB + 512, [](FormatOptions&) {}, {}},
    {"luks2_sectors_of_512", 20 * kMiB, [](FormatOptions& o) { o.sector_size = 512; }, {"--sector-size", "512"}},
    {"luks2_sectors_of_2048",
     20 * kMiB + 2048,
     [](FormatOptions& o) { o.sector_size = 2048; },
     {"--sector-size", "2048"}},
    {"luks2_cbc_default_key",
     20 * kMiB,
     [](FormatOptions& o) { o.cipher = "aes-cbc-plain64"; },
     {"-c", "aes-cbc-plain64"}},
    {"luks2_xts_256", 20 * kMiB, [](FormatOptions& o) { o.key_size_bits = 256; }, {"-s", "256"}},
    {"luks2_offset_4_mib", 8 * kMiB, [](FormatOptions& o) { o.offset_sectors = 8192; }, {"--offset", "8192"}},
    {"luks2_offset_beside_2_mib", 8 * kMiB, [](FormatOptions& o) { o.offset_sectors = 8200; }, {"--offset", "8200"}},
    {"luks2_offset_32_mib", 40 * kMiB, [](FormatOptions& o) { o.offset_sectors = 65536; }, {"--offset", "65536"}},
    {"luks2_offset_200_mib", 202 * kMiB, [](FormatOptions& o) { o.offset_sectors = 409600; }, {"--offset", "409600"}},
    {"luks2_sizes",
     8 * kMiB,
     [](FormatOptions& o) { o.luks2_metadata_bytes = 65536, o.luks2_keyslots_bytes = 1 << 20; },
     {"--luks2-metadata-size", "64k", "--luks2-keyslots-size", "1m"}},
    {"luks2_names",
     20 * kMiB,
     [](FormatOptions& o) { o.label = "a label", o.subsystem = "a subsystem"; },
     {"--label", "a label", "--subsystem", "a subsystem"}},
    {"luks2_slot_3", 20 * kMiB, [](FormatOptions& o) { o.key_slot = 3; }, {"--key-slot", "3"}},
    {"luks2_sha512", 20 * kMiB, [](FormatOptions& o) { o.hash = "sha512"; }, {"--hash", "sha512"}},
    {"luks2_argon2id",
     20 * kMiB,
     [](FormatOptions& o) { o.pbkdf = {.force_iterations = 4, .memory_kib = 65536, .parallel = 2}; },
     {"--pbkdf", "argon2id", "--pbkdf-force-iterations", "4", "--pbkdf-memory", "65536", "--pbkdf-parallel", "2"}},
};

class Format : public testing::TestWithParam<Recipe> {
 protected:
  void SetUp() override { NBDCRYPT_REQUIRE_TOOL("cryptsetup"); }

  FormatOptions ours(const std::string& image) const {
    FormatOptions options = fast(image);
    GetParam().ours(options);
    return options;
  }
  TempDir dir_;
};

TEST_P(Format, MakesTheHeaderThatCryptsetupMakes) {
  const std::string image = dir_.sparse("ours.img", GetParam().bytes),
                    theirs = dir_.sparse("theirs.img", GetParam().bytes);
  for (const std::string& warning : format(ours(image)))
    EXPECT_THAT(warning, HasSubstr("keyslots area (1048576 bytes) is very small"));
  cryptsetup_format(theirs, Args{"--uuid", kUuid} + GetParam().cryptsetups);
  EXPECT_EQ(comparable_dump(image), comparable_dump(theirs));
  EXPECT_EQ(std::filesystem::file_size(image), GetParam().bytes);
}

TEST_P(Format, IsOpenedByCryptsetupAndByUs) {
  const std::string image = dir_.sparse("ours.img", GetParam().bytes);
  format(ours(image));
  EXPECT_EQ(cryptsetup_opens(image, kPassphrase), 0);
  EXPECT_EQ(cryptsetup_opens(image, "wrong"), 2);
  EXPECT_EQ(our_volume_key(image), cryptsetup_volume_key(dir_, image));
}

TEST_P(Format, MakesADetachedHeaderAndLeavesTheImageAlone) {
  const std::string header = dir_ / "ours.hdr", theirs = dir_ / "theirs.hdr";
  const std::string image = dir_.sparse("disk.img", GetParam().bytes);
  poke(image, 0, "what lies here");
  const std::string before = sha256_of(image);
  FormatOptions options = ours(image);
  options.header = header;
  format(options);
  cryptsetup_format(image, Args{"--uuid", kUuid, "--header", theirs} + GetParam().cryptsetups);
  EXPECT_EQ(comparable_dump(header), comparable_dump(theirs));
  EXPECT_EQ(std::filesystem::file_size(header), std::filesystem::file_size(theirs));
  EXPECT_EQ(std::filesystem::status(header).permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  EXPECT_EQ(cryptsetup_opens(image, kPassphrase, {"--header", header}), 0);
  EXPECT_EQ(sha256_of(image), before);
}

INSTANTIATE_TEST_SUITE_P(Recipes, Format, testing::ValuesIn(kRecipes),
                         [](const auto& test) { return std::string(test.param.name); });

class FormatEffects : public testing::TestWithParam<Type> {
 protected:
  void SetUp() override { NBDCRYPT_REQUIRE_TOOL("cryptsetup"); }
  std::uint64_t data_offset() const { return GetParam() == Type::luks1 ? 2 * kMiB : 16 * kMiB; }
  TempDir dir_;
};

TEST_P(FormatEffects, KeepsTheDataArea) {
  const std::string image = dir_.file("disk.img", std::string(20 * kMiB, 'x'));
  format(fast(image, GetParam()));
  EXPECT_EQ(read_file(image).substr(data_offset()), std::string(20 * kMiB - data_offset(), 'x'));
}

TEST_P(FormatEffects, TakesTheVolumeKeyThatIsGiven) {
  const std::string image = dir_.sparse("disk.img", 20 * kMiB);
  const std::string key = "0123456789abcdef0123456789ABCDEF0123456789abcdef0123456789ABCDEF";
  format(fast(image, GetParam()), key);
  EXPECT_EQ(cryptsetup_volume_key(dir_, image), key);
}

TEST_P(FormatEffects, LetsCryptsetupAddAndRemoveKeys) {
  const std::string image = dir_.sparse("disk.img", 20 * kMiB);
  format(fast(image, GetParam()));
  check(Args{"cryptsetup", "luksAddKey", "-q"} + kFastPbkdf + Args{image, dir_.file("new", "another")},
        {.input = kPassphrase});
  EXPECT_EQ(volume::Header::load(image, {}, Type::detect).test_passphrase(credential("another"), -1), 1);
  check({"cryptsetup", "luksKillSlot", "-q", image, "0"});
  EXPECT_EQ(error_of([&] { our_volume_key(image); }).kind(), Kind::passphrase);
}

TEST_P(FormatEffects, LeavesNoOtherSignature) {
  NBDCRYPT_REQUIRE_TOOL("mkfs.ext4");
  const std::string image = dir_.sparse("disk.img", 20 * kMiB);
  check({"mkfs.ext4", "-q", image});
  put_raid_signature(image);
  ASSERT_THAT(volume::signatures_on(image),
              testing::UnorderedElementsAre("ext4 file system", "isw_raid_member volume"));
  format(fast(image, GetParam()));
  EXPECT_THAT(volume::signatures_on(image), ElementsAre("crypto_LUKS volume"));
  EXPECT_THAT(check({"blkid", "-p", image}), HasSubstr("TYPE=\"crypto_LUKS\""));
}

TEST_P(FormatEffects, ReplacesEitherVersion) {
  for (const char* old : {"luks1", "luks2"}) {
    const std::string image = dir_.sparse("disk.img", 20 * kMiB);
    check(Args{"cryptsetup", "luksFormat", "-q", "--type", old} + kFastPbkdf + Args{image}, {.input = "old"});
    format(fast(image, GetParam()));
    EXPECT_EQ(volume::Header::load(image, {}, Type::detect).type(), GetParam()) << old;
    EXPECT_EQ(cryptsetup_opens(image, kPassphrase), 0) << old;
    EXPECT_EQ(cryptsetup_opens(image, "old"), 2) << old;
  }
}

TEST_P(FormatEffects, ReplacesADetachedHeaderThatIsThere) {
  const std::string image = dir_.sparse("disk.img", 4 * kMiB), header = dir_.file("header", std::string(8192, 'x'));
  FormatOptions options = fast(image, GetParam());
  options.header = header;
  format(options);
  format(options);
  EXPECT_EQ(cryptsetup_opens(image, kPassphrase, {"--header", header}), 0);
}

TEST_P(FormatEffects, IsRefusedWhileTheImageIsServed) {
  const std::string image = dir_.sparse("disk.img", 20 * kMiB);
  format(fast(image, GetParam()));
  const std::string before = sha256_of(image);
  const volume::FileDescriptor server = volume::open_image(image, volume::Access::read_write);
  volume::lock_image(server.get(), image, volume::LockMode::exclusive_write);
  EXPECT_EQ(error_of([&] { format(fast(image, GetParam())); }).kind(), Kind::busy);
  FormatOptions detached = fast(image, GetParam());
  detached.header = dir_ / "header";
  EXPECT_EQ(error_of([&] { format(detached); }).kind(), Kind::busy);
  EXPECT_FALSE(std::filesystem::exists(dir_ / "header"));
  EXPECT_EQ(sha256_of(image), before);
}

TEST_P(FormatEffects, NamesTheSizesWhenTheImageIsTooSmall) {
  const std::uint64_t needed = data_offset() + (GetParam() == Type::luks1 ? 512 : 4096);
  const std::string image = dir_.file("disk.img", std::string(needed - 512, 'x'));
  const std::string before = sha256_of(image);
  FormatOptions options = fast(image, GetParam());
  if (GetParam() == Type::luks2) options.sector_size = 4096, std::filesystem::resize_file(image, needed - 4096);
  const std::uint64_t bytes = std::filesystem::file_size(image);
  const std::string unchanged = sha256_of(image);
  const base::Error error = error_of([&] { format(options); });
  EXPECT_EQ(error.kind(), Kind::usage);
  EXPECT_EQ(error.what(), image + ": too small: header and one sector need " + std::to_string(needed) +
                              " bytes, the image has " + std::to_string(bytes));
  EXPECT_EQ(sha256_of(image), unchanged);
  std::filesystem::resize_file(image, needed);
  EXPECT_NO_THROW(format(options));
}

INSTANTIATE_TEST_SUITE_P(Versions, FormatEffects, testing::Values(Type::luks1, Type::luks2),
                         [](const auto& test) { return test.param == Type::luks1 ? "luks1" : "luks2"; });

TEST(FormatRefusal, NamesWhatIsWrongAndWritesNothing) {
  struct Case {
    Kind kind;
    const char* said;
    std::function<void(FormatOptions&)> set;
  };
  TempDir dir;
  const std::string image = dir.file("disk.img", std::string(20 * kMiB, 'x'));
  const std::string before = sha256_of(image);
  const auto luks1 = [](FormatOptions& o) { o.type = Type::luks1; };
  for (const Case& c : std::initializer_list<Case>{
           {Kind::usage, "a plain volume has no header", [](FormatOptions& o) { o.type = Type::plain; }},
           {Kind::usage, "luks1: sectors have 512 bytes", [&](FormatOptions& o) { luks1(o), o.sector_size = 4096; }},
           {Kind::usage, "luks1: has no label", [&](FormatOptions& o) { luks1(o), o.label = "x"; }},
           {Kind::usage, "luks1: has no metadata",
            [&](FormatOptions& o) { luks1(o), o.luks2_keyslots_bytes = 1 << 20; }},
           {Kind::usage, "luks1: pbkdf argon2id: only pbkdf2",
            [&](FormatOptions& o) { luks1(o), o.pbkdf.type = "argon2id"; }},
           {Kind::usage, "key slot 8: expected 0 to 7", [&](FormatOptions& o) { luks1(o), o.key_slot = 8; }},
           {Kind::usage, "key slot 32: expected 0 to 31", [](FormatOptions& o) { o.key_slot = 32; }},
           {Kind::usage, "label: 48 bytes, at most 47", [](FormatOptions& o) { o.label = std::string(48, 'l'); }},
           {Kind::usage, "subsystem: 48 bytes, at most 47",
            [](FormatOptions& o) { o.subsystem = std::string(48, 's'); }},
           {Kind::usage, "UUID", [](FormatOptions& o) { o.uuid = "not-a-uuid"; }},
           {Kind::usage, "no-such-hash", [](FormatOptions& o) { o.hash = "no-such-hash"; }},
           {Kind::usage, "no-such-kdf", [](FormatOptions& o) { o.pbkdf.type = "no-such-kdf"; }},
           {Kind::usage, "metadata of 20480 bytes", [](FormatOptions& o) { o.luks2_metadata_bytes = 20480; }},
           {Kind::usage, "offset is not multiple of 4096", [](FormatOptions& o) { o.offset_sectors = 32769; }},
           {Kind::usage, "offset is too small", [](FormatOptions& o) { o.offset_sectors = 8; }},
           {Kind::usage, "sectors of 3000 bytes: expected 512", [](FormatOptions& o) { o.sector_size = 3000; }},
           {Kind::usage, "not a whole number of bytes", [](FormatOptions& o) { o.key_size_bits = 255; }},
           {Kind::usage, "a key of 64 bits", [](FormatOptions& o) { o.key_size_bits = 64; }},
           {Kind::unsupported, "aes-xts-plain64 with a 384-bit key", [](FormatOptions& o) { o.key_size_bits = 384; }},
           {Kind::unsupported, "serpent", [](FormatOptions& o) { o.cipher = "serpent-xts-plain64"; }},
           {Kind::unsupported, "sha1 gives 20 bytes", [](FormatOptions& o) { o.cipher = "aes-cbc-essiv:sha1"; }},
           {Kind::unsupported, "capi:", [](FormatOptions& o) { o.cipher = "capi:xts(aes)-plain64"; }},
           {Kind::device, "missing", [&](FormatOptions& o) { o.image = dir / "missing"; }},
           {Kind::device, "missing/header", [&](FormatOptions& o) { o.header = dir / "missing/header"; }},
       }) {
    FormatOptions options = fast(image);
    c.set(options);
    const base::Error error = error_of([&] { format(options); });
    EXPECT_EQ(error.kind(), c.kind) << c.said;
    EXPECT_THAT(error.what(), HasSubstr(c.said));
    EXPECT_THAT(error.what(), testing::Not(HasSubstr("/proc/")));
    EXPECT_EQ(sha256_of(image), before) << c.said;
  }
  EXPECT_THAT(error_of([&] { format(fast(image), "short"); }).what(),
              HasSubstr("a volume key of 5 bytes, expected 64"));
}

TEST(FormatRefusal, NamesTheNumbersWhenSectorsDoNotFit) {
  TempDir dir;
  FormatOptions options = fast(dir.sparse("disk.img", 20 * kMiB + 512));
  options.sector_size = 4096;
  const base::Error error = error_of([&] { format(options); });
  EXPECT_EQ(error.kind(), Kind::usage);
  EXPECT_THAT(error.what(), HasSubstr("20972032 bytes with data from byte 0: not a whole number of 4096-byte sectors"));
}

TEST(FormatRefusal, LeavesNoHeaderFileBehind) {
  TempDir dir;
  FormatOptions options = fast(dir.sparse("disk.img", 0));
  options.header = dir / "header";
  EXPECT_THAT(error_of([&] { format(options); }).what(), HasSubstr("too small"));
  EXPECT_FALSE(std::filesystem::exists(dir / "header"));
}

TEST(FormatWarnings, SayThatTheKeySlotsAreFew) {
  TempDir dir;
  FormatOptions options = fast(dir.sparse("disk.img", 4 * kMiB));
  options.luks2_keyslots_bytes = 512 << 10;
  EXPECT_THAT(format(options), ElementsAre(HasSubstr("keyslots area (524288 bytes) is very small")));
}

TEST(FormatDevice, MakesWhatCryptsetupMakesAndIsRefusedWhileMounted) {
  NBDCRYPT_REQUIRE(can_make_loop_devices(), "loop devices");
  NBDCRYPT_REQUIRE_TOOL("mkfs.ext4");
  TempDir dir;
  const LoopDevice device(dir.sparse("disk.img", 24 * kMiB));
  cryptsetup_format(device.path(), {"--uuid", kUuid});
  const std::string theirs = comparable_dump(device.path());
  format(fast(device.path()));
  EXPECT_EQ(comparable_dump(device.path()), theirs);
  EXPECT_EQ(cryptsetup_opens(device.path(), kPassphrase), 0);

  check({"mkfs.ext4", "-q", device.path()});
  const std::string mount_point = dir / "mnt";
  std::filesystem::create_directory(mount_point);
  NBDCRYPT_REQUIRE(mount(device.path().c_str(), mount_point.c_str(), "ext4", 0, nullptr) == 0, "mount");
  const base::Error error = error_of([&] { format(fast(device.path())); });
  EXPECT_EQ(umount(mount_point.c_str()), 0);
  EXPECT_EQ(error.kind(), Kind::busy);
  EXPECT_THAT(volume::signatures_on(device.path()), ElementsAre("ext4 file system"));
}

}  // namespace
}  // namespace nbdcrypt::test
