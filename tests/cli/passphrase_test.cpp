// SPDX-License-Identifier: Apache-2.0
//
// Where secrets come from: terminals, pipes and key files. Every volume here is opened by `copy`, which needs no
// server.
#include <gmock/gmock.h>

#include <filesystem>

#include "tests/cli/program.h"
#include "tests/cli/pty.h"
#include "tests/support/requires.h"
#include "tests/support/temp_dir.h"

namespace nbdcrypt::test {
namespace {

using testing::HasSubstr;
using testing::Not;

class Passphrase : public testing::Test {
 protected:
  void SetUp() override {
    NBDCRYPT_REQUIRE_TOOL("cryptsetup");
    format(image_, "swordfish");
  }
  // A LUKS1 image whose key is all of `secret`, made by cryptsetup.
  void format(const std::string& image, const std::string& secret) {
    std::filesystem::resize_file(image, 3 << 20);
    check({"cryptsetup", "luksFormat", "-q", "--type", "luks1", "--pbkdf-force-iterations", "1000", image,
           dir_.file("secret", secret)});
  }
  Args copy(const Args& options = {}) {
    return Args{"copy"} + options + Args{image_, "/dev/shm/nonexistent-folder/out"};
  }
  // Opens when all that is left to fail is the output, which cannot be made: exit code 4. Wrong passphrase: 2.
  static constexpr int kOpened = 4;
  Args program(const Args& options = {}) { return Args{NBDCRYPT_PROGRAM} + copy(options); }

  TempDir dir_;
  std::string image_ = dir_.file("image", "");
};

TEST_F(Passphrase, TypedOnesAreNotEchoed) {
  AtTerminal terminal(program());
  ASSERT_TRUE(terminal.shows("Enter passphrase for " + image_ + ": ")) << terminal.screen();
  EXPECT_FALSE(terminal.echoes());
  terminal.types("swordfish");
  EXPECT_EQ(terminal.ends(), kOpened) << terminal.screen();
  EXPECT_THAT(terminal.screen(), Not(HasSubstr("swordfish")));
  EXPECT_TRUE(terminal.echoes());
}

TEST_F(Passphrase, IsAskedForThreeTimes) {
  AtTerminal terminal(program());
  for (const char* guess : {"one", "two", "three"}) {
    ASSERT_TRUE(terminal.shows("Enter passphrase for ")) << terminal.screen();
    terminal.types(guess);
    EXPECT_TRUE(terminal.shows("no key available with this passphrase"));
  }
  EXPECT_EQ(terminal.ends(), 2);
  EXPECT_THAT(terminal.screen(), Not(HasSubstr("three")));
}

TEST_F(Passphrase, TheSecondTryMayBeTheRightOne) {
  AtTerminal terminal(program());
  ASSERT_TRUE(terminal.shows("Enter passphrase for "));
  terminal.types("sardine");
  ASSERT_TRUE(terminal.shows("Enter passphrase for "));
  terminal.types("swordfish");
  EXPECT_EQ(terminal.ends(), kOpened) << terminal.screen();
}

TEST_F(Passphrase, TriesLimitsTheTries) {
  AtTerminal terminal(program({"--tries", "1"}));
  ASSERT_TRUE(terminal.shows("Enter passphrase for "));
  terminal.types("sardine");
  EXPECT_EQ(terminal.ends(), 2);
}

TEST_F(Passphrase, TimeoutGivesUpWithTheExitCodeOfCryptsetup) {
  AtTerminal terminal(program({"--timeout", "1"}));
  ASSERT_TRUE(terminal.shows("Enter passphrase for "));
  EXPECT_EQ(terminal.ends(), 1);
  EXPECT_THAT(terminal.screen(), HasSubstr("nothing was typed in time"));
  EXPECT_TRUE(terminal.echoes());
}

TEST_F(Passphrase, CtrlCEndsTheProgramAndPutsTheEchoBack) {
  AtTerminal terminal(program());
  ASSERT_TRUE(terminal.shows("Enter passphrase for "));
  ASSERT_FALSE(terminal.echoes());
  terminal.interrupts();
  EXPECT_EQ(terminal.ends(), 128 + 2) << terminal.screen();
  EXPECT_TRUE(terminal.echoes());
}

TEST_F(Passphrase, VerifyWantsTheSameTwice) {
  AtTerminal same(program({"--verify-passphrase"}));
  ASSERT_TRUE(same.shows("Enter passphrase for "));
  same.types("swordfish");
  ASSERT_TRUE(same.shows("Verify passphrase: "));
  same.types("swordfish");
  EXPECT_EQ(same.ends(), kOpened) << same.screen();

  AtTerminal other(program({"-y"}));
  ASSERT_TRUE(other.shows("Enter passphrase for "));
  other.types("swordfish");
  ASSERT_TRUE(other.shows("Verify passphrase: "));
  other.types("sardine");
  EXPECT_EQ(other.ends(), 2);
  EXPECT_THAT(other.screen(), HasSubstr("passphrases do not match"));
}

TEST_F(Passphrase, TypedOnesHave512BytesAtMost) {
  format(image_, std::string(512, 'x'));
  AtTerminal longest(program());
  ASSERT_TRUE(longest.shows("Enter passphrase for "));
  longest.types(std::string(512, 'x'));
  EXPECT_EQ(longest.ends(), kOpened) << longest.screen();

  AtTerminal longer(program());
  ASSERT_TRUE(longer.shows("Enter passphrase for "));
  longer.types(std::string(513, 'x'));
  EXPECT_EQ(longer.ends(), 1);
  EXPECT_THAT(longer.screen(), HasSubstr("longer than 512 bytes"));
}

TEST_F(Passphrase, NobodyIsAskedInVain) {
  AtTerminal missing({NBDCRYPT_PROGRAM, "copy", dir_ / "missing", dir_ / "out"});
  EXPECT_EQ(missing.ends(), 4);
  EXPECT_THAT(missing.screen(), Not(HasSubstr("Enter passphrase")));
  AtTerminal plain({NBDCRYPT_PROGRAM, "copy", "--type", "plain", image_, dir_ / "out"});
  EXPECT_EQ(plain.ends(), 1);
  EXPECT_THAT(plain.screen(), HasSubstr("--cipher, --key-size, --hash"));
  EXPECT_THAT(plain.screen(), Not(HasSubstr("Enter passphrase")));
}

TEST_F(Passphrase, PipedOnesEndBeforeTheNewlineAndAreTriedOnce) {
  EXPECT_EQ(nbdcrypt(copy(), {.input = "swordfish\n"}).exit_code, kOpened);
  EXPECT_EQ(nbdcrypt(copy(), {.input = "swordfish"}).exit_code, kOpened);
  EXPECT_EQ(nbdcrypt(copy(), {.input = "swordfish\nsardine\n"}).exit_code, kOpened);
  EXPECT_EQ(nbdcrypt(copy(), {.input = "sardine\nswordfish\n"}).exit_code, 2);
  EXPECT_EQ(nbdcrypt(copy(), {.input = ""}).exit_code, 1);
}

TEST_F(Passphrase, KeyFilesAreTakenWholeOrInPart) {
  EXPECT_EQ(nbdcrypt(copy({"-d", dir_.file("k", "swordfish")})).exit_code, kOpened);
  EXPECT_EQ(nbdcrypt(copy({"-d", dir_.file("k", "swordfishes"), "-l", "9"})).exit_code, kOpened);
  EXPECT_EQ(nbdcrypt(copy({"-d", dir_.file("k", "a swordfish"), "--keyfile-offset", "2"})).exit_code, kOpened);
  EXPECT_EQ(nbdcrypt(copy({"-d", dir_.file("k", "sardine")})).exit_code, 2);
  EXPECT_EQ(nbdcrypt(copy({"-d", "-"}), {.input = "swordfish"}).exit_code, kOpened);
  EXPECT_EQ(nbdcrypt(copy({"-d", "-"}), {.input = "swordfish\n"}).exit_code, 2);
  EXPECT_EQ(nbdcrypt(copy({"-d", dir_ / "missing"})).exit_code,
            cryptsetup({"open", "--test-passphrase", "-d", dir_ / "missing", image_}).exit_code);
}

TEST_F(Passphrase, ANewlineTooManyInAKeyFileIsRecognised) {
  const Result result = nbdcrypt(copy({"-d", dir_.file("k", "swordfish\n")}));
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("one does without the newline at its end"));
  EXPECT_THAT(result.err, HasSubstr("hint: --keyfile-size 9 "));
  EXPECT_EQ(nbdcrypt(copy({"-d", dir_ / "k", "--keyfile-size", "9"})).exit_code, kOpened) << "the hint does not help";
}

TEST_F(Passphrase, AMissingNewlineInAKeyFileIsRecognised) {
  format(image_, "swordfish\n");
  const Result result = nbdcrypt(copy({"-d", dir_.file("k", "swordfish")}));
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("one does with a newline at its end"));
}

TEST_F(Passphrase, AWrongKeyFileIsNotBlamedOnANewline) {
  const Result result = nbdcrypt(copy({"-d", dir_.file("k", "sardine\n")}));
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, Not(HasSubstr("newline")));
}

TEST_F(Passphrase, TheVolumeKeyItselfOpensAndIsChecked) {
  check({"cryptsetup", "luksDump", "-q", "--dump-volume-key", "--volume-key-file", dir_ / "vk", "-d",
         dir_.file("k", "swordfish"), image_});
  EXPECT_EQ(nbdcrypt(copy({"--volume-key-file", dir_ / "vk"})).exit_code, kOpened);
  EXPECT_EQ(nbdcrypt(copy({"--volume-key-file", dir_.file("wrong", std::string(64, 'x'))})).exit_code, 2);
}

TEST_F(Passphrase, AKeySlotMayBeNamed) {
  EXPECT_EQ(nbdcrypt(copy({"-S", "0"}), {.input = "swordfish"}).exit_code, kOpened);
  EXPECT_NE(nbdcrypt(copy({"-S", "1"}), {.input = "swordfish"}).exit_code, kOpened);
}

// The key of a plain volume by each of cryptsetup's rules, against the same key computed by sha256sum.
class PlainSecrets : public testing::Test {
 protected:
  std::string plaintext(const Args& options, const std::string& input = "") {
    const std::string out = dir_ / "out";
    check(Args{NBDCRYPT_PROGRAM, "copy", "--type", "plain", "-c", "aes-xts-plain64", "-s", "256"} + options +
              Args{image_, out},
          {.input = input});
    const std::string content = read_file(out);
    std::filesystem::remove(out);
    return content;
  }
  std::string sha256(const std::string& text) {
    return check({"sh", "-c", "sha256sum | cut -c1-64 | xxd -r -p"}, {.input = text});
  }
  std::string with_key(const std::string& key) { return plaintext({"--volume-key-file", dir_.file("raw", key)}); }

  TempDir dir_;
  std::string image_ = dir_.file("image", std::string(65536, 'c'));
};

TEST_F(PlainSecrets, PipedOnesAreHashedWithoutTheirNewline) {
  NBDCRYPT_REQUIRE_TOOL("xxd");
  EXPECT_TRUE(same(plaintext({"-h", "sha256"}, "swordfish\n"), with_key(sha256("swordfish"))));
  EXPECT_FALSE(same(plaintext({"-h", "sha256"}, "swordfish\n"), plaintext({"-h", "sha256"}, "sardine\n")));
}

TEST_F(PlainSecrets, StandardInputAsKeyFileIsHashedWithItsNewline) {
  NBDCRYPT_REQUIRE_TOOL("xxd");
  EXPECT_TRUE(same(plaintext({"-h", "sha256", "-d", "-"}, "swordfish\n"), with_key(sha256("swordfish\n"))));
}

TEST_F(PlainSecrets, KeyFilesAreNotHashed) {
  const std::string key(32, 'k');
  EXPECT_TRUE(same(plaintext({"-h", "sha256", "-d", dir_.file("k", key)}), with_key(key)));
}

}  // namespace
}  // namespace nbdcrypt::test
