// SPDX-License-Identifier: Apache-2.0
//
// The keys of the command line, and what is said about wrong ones: one line that names the thing, exit code 1, before
// anything is served, and never a byte of the secret.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <sstream>

#include "tests/plugin/images.h"
#include "tests/support/requires.h"
#include "tests/support/server.h"

namespace nbdcrypt::test {
namespace {

using testing::HasSubstr;
using testing::Not;

std::vector<std::string> errors(const Result& result) {
  std::vector<std::string> found;
  std::istringstream lines(result.err);
  for (std::string line; std::getline(lines, line);) {
    if (line.find("error: ") != std::string::npos) found.push_back(line);
  }
  return found;
}

// Starts nbdkit with the arguments; expects that it ends with one line of error that holds `message`.
void expect_refused(const Args& args, const std::string& message) {
  const Result result = nbdkit_once(args);
  SCOPED_TRACE(args.empty() ? "" : args.back());
  EXPECT_EQ(result.exit_code, 1) << result.err;
  EXPECT_THAT(result.err, HasSubstr(message));
  EXPECT_EQ(errors(result).size(), 1u) << result.err;
  EXPECT_THAT(result.err + result.out, Not(HasSubstr(kPassphrase)));
}

Args plain(const std::string& image, const Args& more) {
  Args args{"file=" + image, "type=plain",         "cipher=aes-cbc-plain64",
            "key-size=128",  "key-file=/dev/zero", "keyfile-size=16"};
  args.insert(args.end(), more.begin(), more.end());
  return args;
}

TEST(PluginConfig, UnknownKeyIsRefusedWithTheKnownOnes) {
  expect_refused({"file=x", "kee-file=y"}, "kee-file: unknown key; known are file, type, header, passphrase, key-file");
}

TEST(PluginConfig, ThreadsIsRefusedByName) { expect_refused({"file=x", "threads=4"}, "threads: "); }

TEST(PluginConfig, EveryKeyMayBeGivenOnce) {
  expect_refused({"file=x", "file=y"}, "file: given twice");
  expect_refused({"x", "y"}, "file: given twice");
  expect_refused({"file=x", "key-file=y", "key-file=y"}, "key-file: given twice");
  expect_refused({"file=x", "readonly=0", "readonly=1"}, "readonly: given twice");
}

TEST(PluginConfig, MissingImageIsNamed) { expect_refused({"key-file=x"}, "file: missing"); }

TEST(PluginConfig, EmptyValueIsRefused) {
  expect_refused({"file=", "key-file=x"}, "file: the value is missing");
  expect_refused({"file=x", "backend="}, "backend: the value is missing");
}

TEST(PluginConfig, OneSecretIsNeeded) {
  expect_refused({"file=x"}, "no secret: give one of passphrase, key-file, volume-key-file");
}

TEST(PluginConfig, TwoSecretsAreOneTooMany) {
  const TempDir dir;
  const std::string secret = secret_file(dir);
  expect_refused({"file=x", "passphrase=+" + secret, "key-file=" + secret}, "passphrase and key-file: give only one");
  expect_refused({"file=x", "key-file=" + secret, "volume-key-file=" + secret},
                 "key-file and volume-key-file: give only one");
  expect_refused({"file=x", "passphrase=+" + secret, "volume-key-file=" + secret},
                 "passphrase and volume-key-file: give only");
}

TEST(PluginConfig, PartOfAKeyFileWantsAKeyFile) {
  const TempDir dir;
  const std::string secret = secret_file(dir);
  expect_refused({"file=x", "passphrase=+" + secret, "keyfile-size=4"}, "keyfile-size: only with key-file");
  expect_refused({"file=x", "volume-key-file=" + secret, "keyfile-offset=4"}, "keyfile-offset: only with key-file");
}

TEST(PluginConfig, KeysOfPlainVolumesAreRefusedForLuks) {
  for (const char* setting : {"cipher=aes-xts-plain64", "key-size=256", "hash=sha256", "sector-size=512", "offset=0",
                              "skip=0", "size=1", "iv-large-sectors=1"}) {
    const std::string key = std::string(setting).substr(0, std::string(setting).find('='));
    expect_refused({"file=x", "key-file=y", setting}, key + ": only for type=plain");
  }
}

TEST(PluginConfig, KeysOfLuksAreRefusedForPlainVolumes) {
  expect_refused(plain("x", {"header=y"}), "header: only for LUKS");
  expect_refused(plain("x", {"key-slot=1"}), "key-slot: only for LUKS");
}

TEST(PluginConfig, BadNumbersAreNamed) {
  expect_refused({"file=x", "key-slot=1st"}, "key-slot: could not parse number: \"1st\"");
  expect_refused({"file=x", "key-slot=one"}, "key-slot: ");
  expect_refused({"file=x", "key-slot=-1"}, "key-slot: ");
  expect_refused({"file=x", "key-slot=32"}, "key-slot: 32 is more than 31");
  expect_refused({"file=x", "key-size=256bits"}, "key-size: ");
  expect_refused({"file=x", "sector-size=99999999999"}, "sector-size: ");
  expect_refused({"file=x", "offset=1M"}, "offset: ");
  expect_refused({"file=x", "skip=-1"}, "skip: ");
  expect_refused({"file=x", "size=0x7fffffffffffffff"}, "size: 9223372036854775807 sectors are more than");
}

// nbdkit's own parsers complain first, without the key's name; ours adds it.
TEST(PluginConfig, BadSizesAndBooleansAreNamed) {
  const auto said = [](const std::string& setting) { return nbdkit_once({"file=x", setting}).err; };
  EXPECT_THAT(said("keyfile-size=lots"), HasSubstr("keyfile-size: expected a number of bytes"));
  EXPECT_THAT(said("keyfile-offset=-1"), HasSubstr("keyfile-offset: expected a number of bytes"));
  EXPECT_THAT(said("allow-discards=maybe"), HasSubstr("allow-discards: expected true or false"));
  EXPECT_THAT(said("readonly=2"), HasSubstr("readonly: expected true or false"));
  EXPECT_THAT(said("iv-large-sectors=-"), HasSubstr("iv-large-sectors: expected true or false"));
}

TEST(PluginConfig, BadNamesListTheKnownOnes) {
  const TempDir dir;
  const std::string secret = secret_file(dir);
  expect_refused({"file=x", "offload=none"}, "batch");
  expect_refused({"file=x", "key-file=" + secret, "backend=abacus"}, "generic");
  EXPECT_THAT(nbdkit_once({"file=x", "key-file=" + secret, "backend=table"}).err,
              HasSubstr("warning: backend table: looks up tables by key and data"));
  EXPECT_THAT(nbdkit_once({"file=x", "key-file=" + secret}).err, Not(HasSubstr("table")));
  expect_refused({"file=x", "type=luks3"}, "luks3");
  expect_refused({"file=x", "type=tcrypt"}, "tcrypt");
}

TEST(PluginConfig, PlainWithoutCipherIsRefused) {
  const TempDir dir;
  const std::string image = dir.sparse("image", kMiB);
  expect_refused({"file=" + image, "type=plain", "key-file=" + secret_file(dir)}, "cipher");
}

TEST(PluginConfig, BadSettingsOfPlainVolumesAreRefused) {
  const TempDir dir;
  const std::string image = dir.sparse("image", kMiB);
  const Args key{"key-file=/dev/zero", "keyfile-size=16"};
  expect_refused(
      {"file=" + image, "type=plain", "cipher=serpent-xts-plain64", "key-size=256", key[0], "keyfile-size=32"},
      "serpent");
  expect_refused({"file=" + image, "type=plain", "cipher=aes-cbc-plain64", "key-size=129", key[0], key[1]}, "129");
  expect_refused(plain(image, {"sector-size=1000"}), "1000");
  expect_refused(plain(image, {"offset=4096"}), "4096");  // 2 MiB, behind the end of the image
  expect_refused(plain(image, {"size=4096"}), "4096");
}

TEST(PluginConfig, MissingFilesAreNamed) {
  const TempDir dir;
  const std::string image = luks2(dir, kMiB), secret = secret_file(dir);
  expect_refused({"file=" + (dir / "none"), "key-file=" + secret}, (dir / "none") + ": No such file or directory");
  expect_refused({"file=" + image, "key-file=" + (dir / "none")}, dir / "none");
  expect_refused({"file=" + image, "volume-key-file=" + (dir / "none")}, dir / "none");
  expect_refused({"file=" + image, "key-file=" + secret, "header=" + (dir / "none")}, dir / "none");
  expect_refused({"file=" + dir.path(), "key-file=" + secret}, dir.path() + ": Is a directory");
  expect_refused({"file=/dev/zero", "key-file=" + secret}, "/dev/zero: neither a regular file nor a block device");
}

TEST(PluginConfig, PasswordFilesAreNbdkitsBusiness) {
  expect_refused({"file=x", "passphrase=+/nonexistent/secret"}, "/nonexistent/secret");
  expect_refused({"file=x", "passphrase=-"}, "stdin is not");
  expect_refused({"file=x", "passphrase=-0"}, "stdin");
}

TEST(PluginConfig, KeyFileThatIsTooShortIsRefused) {
  const TempDir dir;
  const std::string image = luks2(dir, kMiB), secret = secret_file(dir);
  expect_refused({"file=" + image, "key-file=" + secret, "keyfile-offset=1000"}, secret);
  expect_refused({"file=" + image, "key-file=" + secret, "keyfile-size=1000"}, secret);
}

TEST(PluginConfig, WrongSecretsOpenNothing) {
  const TempDir dir;
  const std::string image = luks2(dir, kMiB);
  const std::string wrong = dir.file("wrong", "incorrect horse"), newline = dir.file("newline", kPassphrase + "\n");
  const std::string no_key = "no key available with this passphrase";
  expect_refused({"file=" + image, "passphrase=+" + wrong}, no_key);
  expect_refused({"file=" + image, "key-file=" + wrong}, no_key);
  expect_refused({"file=" + image, "key-file=" + newline}, no_key);  // cryptsetup keeps the newline, and so do we
  expect_refused({"file=" + image, "key-file=" + secret_file(dir), "key-slot=3"}, "key slot 3 is not in use");
  expect_refused({"file=" + image, "volume-key-file=/dev/zero"}, "/dev/zero");
  expect_refused({"file=" + image, "volume-key-file=" + dir.file("key", std::string(64, 'k'))}, "volume key");
}

TEST(PluginConfig, LiteralPassphraseIsWarnedOfButNotShown) {
  const TempDir dir;
  const std::string image = luks2(dir, kMiB);
  const Result literal = nbdkit_once({"file=" + image, "passphrase=incorrect horse"});
  EXPECT_EQ(literal.exit_code, 1);
  EXPECT_THAT(literal.err, HasSubstr("warning: passphrase=... is visible in the process list"));
  EXPECT_THAT(literal.err, Not(HasSubstr("incorrect horse")));
  const Result from_file = nbdkit_once({"file=" + image, "passphrase=+" + dir.file("wrong", "incorrect horse")});
  EXPECT_THAT(from_file.err, Not(HasSubstr("warning")));
}

TEST(PluginConfig, WhatIsNoVolumeIsNotServed) {
  const TempDir dir;
  const std::string secret = secret_file(dir);
  const Bytes noise = pattern(4 * kMiB, 1);
  const std::string image = dir.file("noise", {noise.begin(), noise.end()});
  const std::string before = sha256_of_file(image);
  expect_refused({"file=" + image, "key-file=" + secret}, image + ": not a LUKS volume");
  expect_refused({"file=" + dir.file("empty", ""), "key-file=" + secret}, dir / "empty");
  EXPECT_EQ(sha256_of_file(image), before);
}

TEST(PluginConfig, TheWrongVersionOfLuksIsNotServed) {
  const TempDir dir;
  const std::string image = luks2(dir, kMiB), secret = secret_file(dir);
  expect_refused({"file=" + image, "type=luks1", "key-file=" + secret}, image + ": a LUKS2 volume, not LUKS1");
}

// Overwrites `bytes` of the image with 0xff.
void damage(const std::string& image, std::streamoff offset, std::size_t bytes) {
  std::fstream file(image, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(offset);
  file << std::string(bytes, '\xff');
}

TEST(PluginConfig, DamagedHeaderIsNeitherServedNorRewritten) {
  const TempDir dir;
  const std::string image = luks2(dir, kMiB), secret = secret_file(dir);
  damage(image, 4096 + 100, 64);          // the JSON area of the first copy
  damage(image, 16384 + 4096 + 100, 64);  // and of the second
  const std::string before = sha256_of_file(image);
  expect_refused({"file=" + image, "key-file=" + secret}, image + ": ");
  EXPECT_EQ(sha256_of_file(image), before);
}

TEST(PluginConfig, ServesFromTheSecondCopyOfAHeaderWithoutRepairingIt) {
  const TempDir dir;
  const std::string image = luks2(dir, kMiB);
  damage(image, 4096 + 100, 64);
  const std::string before = sha256_of_file(image);
  Server server({"file=" + image, "key-file=" + secret_file(dir)});
  EXPECT_EQ(server.connect().size(), kMiB);
  EXPECT_EQ(server.stop(), 0);
  EXPECT_EQ(sha256_of_file(image), before);
}

TEST(PluginConfig, DamagedLuks1HeaderSaysWhatIsWrong) {
  const TempDir dir;
  const std::string image = luks1(dir, kMiB), secret = secret_file(dir);
  damage(image, 208 + 44, 4);  // key slot 0: the number of stripes
  expect_refused({"file=" + image, "key-file=" + secret}, image + ": ");
}

TEST(PluginConfig, ServedImageIsNotServedTwice) {
  const TempDir dir;
  const std::string image = luks2(dir, kMiB), secret = secret_file(dir);
  Server first({"file=" + image, "key-file=" + secret});
  expect_refused({"file=" + image, "key-file=" + secret},
                 image + ": in use by nbdkit (process " + std::to_string(first.pid()) + ")");
  expect_refused({"file=" + image, "key-file=" + secret, "readonly=true"}, "in use by nbdkit");
  EXPECT_EQ(first.connect().size(), kMiB);
  EXPECT_EQ(first.stop(), 0);
  Server second({"file=" + image, "key-file=" + secret});
  EXPECT_EQ(second.connect().size(), kMiB);
}

}  // namespace
}  // namespace nbdcrypt::test
