// SPDX-License-Identifier: Apache-2.0
//
// The command line itself: what is refused and how, help, exit codes, and the state that a parent leaves us in.
#include <gmock/gmock.h>

#include <algorithm>
#include <regex>
#include <set>
#include <sstream>

#include "tests/cli/program.h"
#include "tests/support/requires.h"
#include "tests/support/temp_dir.h"

namespace nbdcrypt::test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

// Refused with exit code 1 and one line that names `what`, perhaps with a hint.
void expect_refused(const Args& words, const std::string& what) {
  const Result result = nbdcrypt(words);
  EXPECT_EQ(result.exit_code, 1) << testing::PrintToString(words);
  EXPECT_EQ(result.out, "") << testing::PrintToString(words);
  EXPECT_THAT(result.err, StartsWith("nbdcrypt: ")) << testing::PrintToString(words);
  EXPECT_THAT(result.err.substr(0, result.err.find('\n')), HasSubstr(what)) << testing::PrintToString(words);
  EXPECT_LE(std::count(result.err.begin(), result.err.end(), '\n'), 2);
}

TEST(Options, UnknownOnesAreRefusedByName) {
  expect_refused({"luksDump", "--nonsense", "image"}, "unknown option --nonsense");
  expect_refused({"--nonsense", "luksDump", "image"}, "unknown option --nonsense");
  expect_refused({"luksDump", "-Z", "image"}, "unknown option -Z");
}

TEST(Options, ThoseOfCryptsetupThatAreNotDoneHereAreRefusedByName) {
  for (const char* option :
       {"--integrity", "--hw-opal", "--hw-opal-only", "--disable-blkid", "--volume-key-keyring", "--veracrypt",
        "--token-id", "--link-vk-to-keyring", "--align-payload", "--use-urandom", "--debug", "--progress-json"}) {
    expect_refused({"luksFormat", option, "image"}, std::string("unknown option ") + option);
  }
}

TEST(Options, AreNeverAbbreviated) {
  expect_refused({"luksFormat", "--key-s", "256", "image"}, "unknown option --key-s");
  expect_refused({"luksFormat", "--ciph=aes", "image"}, "unknown option --ciph");
  expect_refused({"luksDump", "--he", "x", "image"}, "unknown option --he");
}

TEST(Options, OfAnotherCommandAreRefused) {
  expect_refused({"luksDump", "--cipher", "aes-xts-plain64", "image"},
                 "luksDump: option --cipher is not one of this command's");
  expect_refused({"-c", "aes-xts-plain64", "isLuks", "image"}, "isLuks: option --cipher");
  expect_refused({"luksUUID", "--uuid", "x", "image"}, "luksUUID: option --uuid");
}

TEST(Options, NeedTheirValuesAndTheirNumbers) {
  expect_refused({"luksFormat", "image", "--cipher"}, "--cipher needs a value");
  expect_refused({"luksFormat", "image", "-c"}, "needs a value");
  expect_refused({"luksFormat", "image", "--batch-mode=1"}, "--batch-mode takes no value");
  expect_refused({"luksFormat", "image", "--key-size", "many"}, "many");
  expect_refused({"luksFormat", "image", "--key-size", "-256"}, "-256");
  expect_refused({"luksFormat", "image", "--key-size", "4294967552"}, "4294967552");  // 256 in 32 bits
  expect_refused({"luksFormat", "image", "--size", "1X"}, "1X");
  expect_refused({"luksFormat", "image", "--size", "99999999999T"}, "99999999999T");
  expect_refused({"luksFormat", "image", "-c", "aes", "-c", "aes"}, "--cipher was given more than once");
}

TEST(Options, CommandsNeedTheirArguments) {
  expect_refused({}, "no command given");
  expect_refused({"frobnicate"}, "unknown command frobnicate");
  expect_refused({"luksDump"}, "luksDump: too few arguments");
  expect_refused({"luksDump", "a", "b"}, "luksDump: too many arguments");
  expect_refused({"copy", "a"}, "copy: too few arguments");
}

TEST(Options, ContradictionsAreRefused) {
  expect_refused({"copy", "--cipher", "aes-xts-plain64", "image", "out"}, "option --cipher is for --type plain alone");
  expect_refused({"copy", "--skip", "1", "image", "out"}, "option --skip");
  expect_refused({"copy", "--iv-large-sectors", "image", "out"}, "option --iv-large-sectors");
  expect_refused({"copy", "--type", "plain", "--header", "h", "image", "out"},
                 "option --header is not for --type plain");
  expect_refused({"copy", "--type", "plain", "--key-slot", "1", "image", "out"}, "option --key-slot");
  expect_refused({"copy", "--volume-key-file", "v", "--key-file", "k", "image", "out"},
                 "option --key-file cannot be combined");
  expect_refused({"copy", "--key-slot", "32", "image", "out"}, "option --key-slot is 32, expected 0 to 31");
  expect_refused({"copy", "--offload", "some", "image", "out"}, "some");
  expect_refused({"copy", "--allow-discards", "image", "out"}, "--allow-discards");
  expect_refused({"copy", "--encrypt", "--readonly", "in", "image"}, "--readonly");
  expect_refused({"copy", "nbd://localhost", "out"}, "nbd://localhost");
  const TempDir dir;
  expect_refused({"luksFormat", "--key-file", "a", dir.sparse("image", 1 << 20), "b"}, "two key files");
}

TEST(Options, MayComeBeforeTheCommandAndAfterIt) {
  NBDCRYPT_REQUIRE_TOOL("cryptsetup");
  const TempDir dir;
  const std::string key = dir.file("key", "secret"), image = dir.sparse("image", 4 << 20);
  const Result result = nbdcrypt(
      {"-q", "--type", "luks1", "-s", "256", "--pbkdf-force-iterations=1000", "luksFormat", image, "-hsha256", key});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(check({"cryptsetup", "luksDump", image}), HasSubstr("MK bits:       \t256"));
}

TEST(Options, WordsAfterTwoDashesAreArguments) {
  const TempDir dir;
  dir.sparse("-v", 1 << 20);
  const Result result = run({NBDCRYPT_PROGRAM, "luksDump", "--", "-v"}, {.directory = dir.path()});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("-v: not a LUKS volume"));
}

TEST(Options, VerboseEndsWithTheWordsOfCryptsetup) {
  NBDCRYPT_REQUIRE_TOOL("cryptsetup");
  const TempDir dir;
  const std::string key = dir.file("key", "secret"), image = dir.sparse("image", 4 << 20);
  const Result format =
      nbdcrypt({"-v", "luksFormat", "--type", "luks1", "--pbkdf-force-iterations", "1000", image, key});
  EXPECT_EQ(format.out, "Key slot 0 created.\nCommand successful.\n") << format.err;
  for (const Args& words :
       std::vector<Args>{{"-v", "isLuks", image}, {"-v", "isLuks", key}, {"-v", "isLuks", dir / "missing"}}) {
    EXPECT_EQ(nbdcrypt(words).out, cryptsetup(words).out) << testing::PrintToString(words);
  }
}

TEST(Options, VersionAndHelpAreOnStandardOutput) {
  for (const char* option : {"--version", "-V"})
    EXPECT_THAT(nbdcrypt({option}).out, testing::MatchesRegex("nbdcrypt [0-9.]+\n"));
  for (const Args& words : std::vector<Args>{{"--help"}, {"-?"}}) {
    const Result result = nbdcrypt(words);
    EXPECT_EQ(result.exit_code, 0);
    for (const char* command : {"luksFormat", "luksDump", "isLuks", "luksUUID", "open", "create", "close", "status",
                                "mount", "umount", "serve", "copy", "backends"}) {
      EXPECT_THAT(result.out, HasSubstr(std::string("\n  ") + command + " "));
    }
  }
}

// The long options that `command --help` lists.
std::set<std::string> options_of(const std::string& command) {
  const Result result = nbdcrypt({command, "--help"});
  EXPECT_EQ(result.exit_code, 0) << command;
  EXPECT_THAT(result.out, StartsWith("Usage: nbdcrypt " + command));
  static const std::regex kOption("^  (-. \\[ )?--([a-z0-9-]+)");
  std::set<std::string> options;
  std::istringstream lines(result.out);
  std::smatch match;
  for (std::string line; std::getline(lines, line);) {
    if (std::regex_search(line, match, kOption)) options.insert(match[2]);
  }
  return options;
}

TEST(Options, EveryOneIsInTheManPageOfItsCommand) {
  const std::string common = read_file(NBDCRYPT_SOURCE "/docs/man/nbdcrypt.8");
  for (const char* command : {"luksFormat", "luksDump", "isLuks", "luksUUID", "copy", "backends"}) {
    const std::string page = read_file(NBDCRYPT_SOURCE "/docs/man/nbdcrypt-" + std::string(command) + ".8");
    const std::set<std::string> options = options_of(command);
    EXPECT_GE(options.size(), 5u) << command;
    for (const std::string& option : options) {
      if (option == "help" || option == "version" || option == "verbose" || option == "batch-mode") continue;
      EXPECT_THAT(page, HasSubstr("-" + option)) << command;
    }
  }
  for (const char* option : {"-help", "-version", "-verbose", "-batch-mode"}) EXPECT_THAT(common, HasSubstr(option));
}

TEST(Options, ManPagesAreWellFormed) {
  NBDCRYPT_REQUIRE_TOOL("mandoc");
  for (const char* page : {"nbdcrypt", "nbdcrypt-luksFormat", "nbdcrypt-luksDump", "nbdcrypt-isLuks",
                           "nbdcrypt-luksUUID", "nbdcrypt-copy", "nbdcrypt-backends"}) {
    const Result result =
        run({"mandoc", "-T", "lint", "-W", "warning", NBDCRYPT_SOURCE "/docs/man/" + std::string(page) + ".8"});
    EXPECT_EQ(result.out + result.err, "") << page;
  }
}

TEST(Backends, AreListedAndTheFirstThatRunsIsChosen) {
  const Result result = nbdcrypt({"backends"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("generic"));
  std::smatch chosen, marked;
  ASSERT_TRUE(
      std::regex_search(result.out, chosen, std::regex("chosen: (\\S+), the first in this order that runs here\n")));
  ASSERT_TRUE(std::regex_search(result.out, marked, std::regex("(^|\n)\\* (\\S+) +runs here")));
  EXPECT_EQ(chosen[1], marked[2]);
}

TEST(Backends, TheEnvironmentAndTheOptionMoveTheChoice) {
  const std::string all = "ssse3,sse41,aesni,pclmul,avx,avx2,vaes,vpclmul,avx512";
  const Result masked = nbdcrypt({"backends"}, {.environment = {{"NBDCRYPT_DISABLE_CPU", all}}});
  EXPECT_THAT(masked.out, HasSubstr("chosen: generic, the first"));
  EXPECT_THAT(nbdcrypt({"backends", "--backend", "generic"}).out, HasSubstr("chosen: generic, as --backend says"));
  const Result unknown = nbdcrypt({"backends"}, {.environment = {{"NBDCRYPT_DISABLE_CPU", "aesno"}}});
  EXPECT_EQ(unknown.exit_code, 1);
  EXPECT_THAT(unknown.err, HasSubstr("aesno"));
  EXPECT_EQ(nbdcrypt({"backends", "--backend", "nosuch"}).exit_code, 1);
  const Result table = nbdcrypt({"backends", "--backend", "table"});
  EXPECT_THAT(table.out, HasSubstr("runs here only by name, offloads"));
  EXPECT_THAT(table.err, HasSubstr("warning: backend table: looks up tables by key and data"));
}

TEST(Program, OutputThatDoesNotArriveIsAnError) {
  const Result result = run({"sh", "-c", NBDCRYPT_PROGRAM " backends > /dev/full"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("nbdcrypt: standard output: No space left on device"));
  EXPECT_EQ(run({"sh", "-c", NBDCRYPT_PROGRAM " --help | true"}).err, "");
}

// Without the check, the image would become standard output, and the text would be written into it.
TEST(Program, ClosedStandardDescriptorsDoNoHarm) {
  const TempDir dir;
  const std::string key = dir.file("key", "secret"), image = dir / "image";
  check({"sh", "-c",
         NBDCRYPT_PROGRAM
         " luksFormat --type luks1 --pbkdf-force-iterations 1000 --size 4M -v \"$0\" \"$1\" <&- >&- 2>&-",
         image, key});
  EXPECT_EQ(nbdcrypt({"isLuks", image}).exit_code, 0);
  EXPECT_EQ(read_file(image).find("Key slot 0 created"), std::string::npos);
}

}  // namespace
}  // namespace nbdcrypt::test
