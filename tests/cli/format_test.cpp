// SPDX-License-Identifier: Apache-2.0
//
// luksFormat beside cryptsetup's: the same options give the same header, and each opens what the other made.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <filesystem>
#include <regex>
#include <sstream>

#include "tests/cli/program.h"
#include "tests/cli/pty.h"
#include "tests/support/requires.h"
#include "tests/support/temp_dir.h"

namespace nbdcrypt::test {
namespace {

using testing::HasSubstr;
using testing::Not;

struct Spec {
  const char* name;
  Args options;
};
void PrintTo(const Spec& spec, std::ostream* out) { *out << spec.name; }

// What a dump says beyond chance: without salts, digests, and what was measured.
std::string facts(const std::string& image) {
  static const std::regex kRandom("^(Epoch|MK (digest|salt|iterations)|\\s*(Salt|Digest):|[\\s]+([0-9a-f]{2} )+).*$");
  std::string kept;
  std::istringstream dump(check({"cryptsetup", "luksDump", image}));
  for (std::string line; std::getline(dump, line);) {
    if (!std::regex_match(line, kRandom) && line.find(image) == std::string::npos) kept += line + "\n";
  }
  return kept;
}

class FormatSpecs : public testing::TestWithParam<Spec> {};

TEST_P(FormatSpecs, GiveTheHeaderThatCryptsetupMakesAndOpenThere) {
  NBDCRYPT_REQUIRE_TOOL("cryptsetup");
  const TempDir dir;
  const std::string ours = dir.sparse("ours", 64 << 20), theirs = dir.sparse("theirs", 64 << 20);
  const std::string key = dir.file("key", "a key file\n");
  const Args options = GetParam().options + Args{"--uuid", kUuid, "--pbkdf-force-iterations", "1000"};
  const Result result = nbdcrypt(Args{"luksFormat"} + options + Args{ours, key});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  check(Args{"cryptsetup", "luksFormat", "-q"} + options + Args{theirs, key});

  EXPECT_EQ(facts(ours), facts(theirs));
  EXPECT_EQ(cryptsetup({"open", "--test-passphrase", "--key-file", key, ours}).exit_code, 0);
  EXPECT_EQ(cryptsetup({"open", "--test-passphrase", "--key-file", dir.file("wrong", "wrong"), ours}).exit_code, 2);
  EXPECT_EQ(nbdcrypt({"luksDump", ours}).out, check({"cryptsetup", "luksDump", ours}));
  EXPECT_EQ(nbdcrypt({"luksDump", theirs}).out, check({"cryptsetup", "luksDump", theirs}));
  // Theirs opens here: what copy gets out of it is as long as the dump says.
  EXPECT_EQ(nbdcrypt({"copy", "--key-file", key, theirs, dir / "plain"}).exit_code, 0);
  EXPECT_GT(std::filesystem::file_size(dir / "plain"), 32u << 20);
}

INSTANTIATE_TEST_SUITE_P(
    Cryptsetup, FormatSpecs,
    testing::Values(
        Spec{"Luks2", {"--pbkdf", "pbkdf2"}}, Spec{"Luks2Sector512", {"--pbkdf", "pbkdf2", "--sector-size", "512"}},
        Spec{"Luks2Key256", {"--pbkdf", "pbkdf2", "-s", "256", "--sector-size", "4096"}},
        Spec{"Luks2CbcEssiv", {"--pbkdf", "pbkdf2", "-c", "aes-cbc-essiv:sha256", "-s", "256"}},
        Spec{"Luks2Sha512", {"--pbkdf", "pbkdf2", "-h", "sha512"}},
        Spec{"Luks2Labels", {"--pbkdf", "pbkdf2", "--label", "disk", "--subsystem", "test"}},
        Spec{"Luks2Slot5", {"--pbkdf", "pbkdf2", "-S", "5"}},
        Spec{"Luks2SmallMetadata",
             {"--pbkdf", "pbkdf2", "--luks2-metadata-size", "64k", "--luks2-keyslots-size", "4M"}},
        Spec{"Luks2Offset", {"--pbkdf", "pbkdf2", "-o", "40960"}}, Spec{"Luks1", {"--type", "luks1"}},
        Spec{"Luks1CbcPlain64", {"--type", "luks1", "-c", "aes-cbc-plain64", "-s", "128"}},
        Spec{"Luks1CbcEssiv", {"--type", "luks1", "-c", "aes-cbc-essiv:sha256", "-s", "256", "-h", "sha512"}},
        Spec{"Luks1Slot7", {"--type", "luks1", "-S", "7"}}, Spec{"Luks1Offset", {"--type", "luks1", "-o", "8192"}}),
    [](const auto& spec) { return std::string(spec.param.name); });

TEST(Format, Argon2TakesItsCostsAndCryptsetupOpensIt) {
  NBDCRYPT_REQUIRE_TOOL("cryptsetup");
  const TempDir dir;
  const std::string image = dir.sparse("image", 32 << 20), key = dir.file("key", "secret");
  const Result result = nbdcrypt({"luksFormat", "--pbkdf", "argon2i", "--pbkdf-memory", "65536", "--pbkdf-parallel",
                                  "2", "--pbkdf-force-iterations", "4", image, key});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const std::string dump = nbdcrypt({"luksDump", image}).out;
  EXPECT_THAT(dump, HasSubstr("PBKDF:      argon2i\n\tTime cost:  4\n\tMemory:     65536\n\tThreads:    2\n"));
  EXPECT_EQ(cryptsetup({"open", "--test-passphrase", "--key-file", key, image}).exit_code, 0);
}

TEST(Format, ADetachedHeaderLeavesTheImageAlone) {
  NBDCRYPT_REQUIRE_TOOL("cryptsetup");
  const TempDir dir;
  const std::string content(1 << 20, 'x');
  const std::string image = dir.file("image", content), key = dir.file("key", "secret"), header = dir / "header";
  const Result result = nbdcrypt(Args{"luksFormat", "--header", header} + kFast + Args{image, key});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(same(read_file(image), content));
  EXPECT_EQ(cryptsetup({"open", "--test-passphrase", "--header", header, "--key-file", key, image}).exit_code, 0);
  EXPECT_EQ(nbdcrypt({"isLuks", image}).exit_code, 1);
  EXPECT_EQ(nbdcrypt({"isLuks", "--header", header, image}).exit_code, 0);
}

TEST(Format, TakesTheVolumeKeyOfAFile) {
  NBDCRYPT_REQUIRE_TOOL("cryptsetup");
  const TempDir dir;
  const std::string volume_key(64, 'k');
  const std::string image = dir.sparse("image", 32 << 20), key = dir.file("key", "secret"), kept = dir / "kept";
  const Result result =
      nbdcrypt(Args{"luksFormat", "--volume-key-file", dir.file("vk", volume_key)} + kFast + Args{image, key});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  check({"cryptsetup", "luksDump", "-q", "--dump-volume-key", "--volume-key-file", kept, "--key-file", key, image});
  EXPECT_TRUE(same(read_file(kept), volume_key));
}

// Every wrong command line that cryptsetup refuses is refused here with the same exit code.
TEST(Format, WrongUseHasTheExitCodesOfCryptsetup) {
  NBDCRYPT_REQUIRE_TOOL("cryptsetup");
  const TempDir dir;
  const std::string image = dir.sparse("image", 32 << 20), key = dir.file("key", "secret"),
                    small = dir.sparse("small", 8192);
  const std::string zeros = read_file(image);
  const std::vector<Args> lines = {
      {image, dir / "missing-key"},
      {dir / "missing-image", key},
      {image, key, "--key-size", "123"},
      {image, key, "--key-size", "abc"},
      {image, key, "--key-size", "-256"},
      {image, key, "--cipher", "blah-xts-plain64"},
      {image, key, "--hash", "nosuchhash"},
      {image, key, "--iter-time", "10", "--pbkdf-force-iterations", "1000"},
      {image, key, "--pbkdf", "pbkdf2", "--pbkdf-force-iterations", "10"},
      {image, key, "--pbkdf", "scrypt"},
      {image, key, "--sector-size", "100"},
      {image, key, "--sector-size", "8192"},
      {image, key, "--uuid", "xyz"},
      {image, key, "--type", "plain"},
      {image, key, "--key-slot", "99"},
      {image, key, "--type", "luks1", "--key-slot", "8"},
      {image, key, "--luks2-metadata-size", "12345"},
      {image, key, "--keyfile-offset", "100"},
      {image, key, "--keyfile-size", "100"},
      {image, key, "--hw-opal-only"},
      {image},
      {},
  };
  for (const Args& line : lines) {
    const Result ours = nbdcrypt(Args{"luksFormat", "-q"} + line);
    ASSERT_TRUE(same(read_file(image), zeros)) << testing::PrintToString(line) << ": refused, and wrote";
    const Result theirs = cryptsetup(Args{"luksFormat", "-q"} + line);  // sometimes writes before it refuses
    dir.file("image", zeros);
    EXPECT_EQ(ours.exit_code, theirs.exit_code) << testing::PrintToString(line) << ours.err << theirs.err;
    EXPECT_THAT(ours.err, testing::StartsWith("nbdcrypt: ")) << testing::PrintToString(line);
  }
  EXPECT_EQ(nbdcrypt({"luksFormat", "-q", small, key}).exit_code, 1);
}

class Overwriting : public testing::Test {
 protected:
  // Refused, and not a byte changed; done with --batch-mode.
  void expect_guarded(const std::string& what) {
    const std::string before = read_file(image_);
    const Result refused = nbdcrypt(Args{"luksFormat"} + kFast + Args{image_, key_});
    EXPECT_EQ(refused.exit_code, 1);
    EXPECT_THAT(refused.err, HasSubstr(what));
    EXPECT_THAT(refused.err, HasSubstr("hint: --batch-mode"));
    EXPECT_TRUE(same(read_file(image_), before));
    const Result done = nbdcrypt(Args{"luksFormat", "-q"} + kFast + Args{image_, key_});
    EXPECT_EQ(done.exit_code, 0) << done.err;
    EXPECT_EQ(nbdcrypt({"isLuks", image_}).exit_code, 0);
  }
  TempDir dir_;
  std::string image_ = dir_.sparse("image", 32 << 20), key_ = dir_.file("key", "secret");
};

TEST_F(Overwriting, AFileSystemIsRefused) {
  NBDCRYPT_REQUIRE_TOOL("mkfs.ext4");
  check({"mkfs.ext4", "-q", image_});
  expect_guarded("ext4 file system");
}

TEST_F(Overwriting, AVolumeIsRefused) {
  check(Args{NBDCRYPT_PROGRAM, "luksFormat"} + kFast + Args{image_, key_});
  expect_guarded("crypto_LUKS volume");
}

TEST_F(Overwriting, APartitionTableIsRefused) {
  NBDCRYPT_REQUIRE_TOOL("sfdisk");
  check({"sfdisk", "-q", image_}, {.input = "label: gpt\n1M,8M\n"});
  expect_guarded("gpt partition table");
}

TEST_F(Overwriting, ATerminalIsAskedAndOnlyYesInCapitalsCounts) {
  check(Args{NBDCRYPT_PROGRAM, "luksFormat"} + kFast + Args{image_, key_});
  const std::string before = read_file(image_);
  for (const char* answer : {"yes", "Yes", "", "YES ", "no"}) {
    AtTerminal program(Args{NBDCRYPT_PROGRAM, "luksFormat"} + kFast + Args{image_, key_});
    ASSERT_TRUE(program.shows("crypto_LUKS volume")) << program.screen();
    ASSERT_TRUE(program.shows("Are you sure? (Type 'yes' in capital letters): ")) << program.screen();
    program.types(answer);
    EXPECT_EQ(program.ends(), 1) << answer;
    EXPECT_TRUE(same(read_file(image_), before)) << answer;
  }
  AtTerminal program(Args{NBDCRYPT_PROGRAM, "luksFormat"} + kFast + Args{image_, key_});
  ASSERT_TRUE(program.shows("capital letters): ")) << program.screen();
  program.types("YES");
  EXPECT_EQ(program.ends(), 0) << program.screen();
  EXPECT_FALSE(same(read_file(image_), before));
}

TEST_F(Overwriting, ATypedPassphraseIsAskedForTwiceAndOpensInCryptsetup) {
  NBDCRYPT_REQUIRE_TOOL("cryptsetup");
  AtTerminal program(Args{NBDCRYPT_PROGRAM, "luksFormat"} + kFast + Args{image_});
  ASSERT_TRUE(program.shows("capital letters): "));
  program.types("YES");
  ASSERT_TRUE(program.shows("Enter passphrase for " + image_ + ": "));
  program.types("swordfish");
  ASSERT_TRUE(program.shows("Verify passphrase: "));
  program.types("swordfish");
  EXPECT_EQ(program.ends(), 0) << program.screen();
  EXPECT_THAT(program.screen(), Not(HasSubstr("swordfish")));
  EXPECT_EQ(cryptsetup({"open", "--test-passphrase", image_}, {.input = "swordfish"}).exit_code, 0);
}

TEST_F(Overwriting, TwoDifferentPassphrasesWriteNothing) {
  AtTerminal program(Args{NBDCRYPT_PROGRAM, "luksFormat"} + kFast + Args{image_});
  ASSERT_TRUE(program.shows("capital letters): "));
  program.types("YES");
  ASSERT_TRUE(program.shows("Enter passphrase"));
  program.types("one");
  ASSERT_TRUE(program.shows("Verify passphrase: "));
  program.types("two");
  EXPECT_EQ(program.ends(), 2);
  EXPECT_THAT(program.screen(), HasSubstr("nbdcrypt: passphrases do not match"));
  EXPECT_EQ(nbdcrypt({"isLuks", image_}).exit_code, 1);
}

TEST(FormatSize, MakesASparseImageForItsOwnerAlone) {
  const TempDir dir;
  const std::string image = dir / "new.img", key = dir.file("key", "secret");
  const Result result = nbdcrypt(Args{"luksFormat", "--size", "1G"} + kFast + Args{image, key});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  struct stat status;
  ASSERT_EQ(stat(image.c_str(), &status), 0);
  EXPECT_EQ(status.st_size, 1 << 30);
  EXPECT_LT(status.st_blocks * 512, 64 << 20);
  EXPECT_EQ(status.st_mode & 07777, 0600u);
  EXPECT_EQ(nbdcrypt({"isLuks", "--type", "luks2", image}).exit_code, 0);
}

TEST(FormatSize, RefusesAnImageThatExists) {
  const TempDir dir;
  const std::string image = dir.file("image", "precious"), key = dir.file("key", "secret");
  for (const char* batch : {"-q", "--size=1G"}) {  // the latter twice is an error as well
    const Result result = nbdcrypt({"luksFormat", batch, "--size", "1G", image, key});
    EXPECT_NE(result.exit_code, 0);
    EXPECT_TRUE(same(read_file(image), "precious"));
  }
  EXPECT_EQ(nbdcrypt({"luksFormat", "--size", "1G", image, key}).exit_code, 5);
}

TEST(FormatSize, LeavesNothingBehindWhenFormattingFails) {
  const TempDir dir;
  const std::string image = dir / "new.img", key = dir.file("key", "secret");
  const std::vector<Args> failing = {{"--size", "1M", image, key},  // too small for a header
                                     {"--size", "1G", "--sector-size", "100", image, key},
                                     {"--size", "1G", "--cipher", "blah-xts-plain64", image, key},
                                     {"--size", "1G", image, dir / "missing"},
                                     {"--size", "9999999T", image, key}};
  for (const Args& words : failing) {
    const Result result = nbdcrypt(Args{"luksFormat"} + kFast + words);
    EXPECT_EQ(result.exit_code, 1) << result.err;
    EXPECT_FALSE(std::filesystem::exists(image)) << testing::PrintToString(words);
  }
}

}  // namespace
}  // namespace nbdcrypt::test
