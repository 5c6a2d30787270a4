// SPDX-License-Identifier: Apache-2.0
//
// The runtime folder: which one it is, and what is refused because somebody else could have put it there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "tests/cli/session.h"
#include "tests/support/requires.h"

namespace nbdcrypt::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr int kWrong = 1, kMissing = 4;

class Runtime : public testing::Test {
 protected:
  Result status(const Args& words = {}) { return session_.nbdcrypt(Args{"status"} + words); }
  // As `nobody`, without any of the variables that name a runtime folder but `setting`.
  Result status_as_nobody(const std::string& setting) {
    return session_.as_nobody(Args{"env", "-u", "NBDCRYPT_RUNTIME_DIR", "-u", "XDG_RUNTIME_DIR"} +
                              (setting.empty() ? Args{} : Args{setting}) + Args{NBDCRYPT_PROGRAM, "status"});
  }
  std::string make_runtime(unsigned mode = 0700) {
    const std::string path = session_.folder("run");
    chmod(path.c_str(), mode);
    return path;
  }

  Session session_;
};

TEST_F(Runtime, FolderIsMadeClosedToOthers) {
  const Result result = status();
  EXPECT_EQ(result.exit_code, 0) << result.err;
  struct stat seen;
  ASSERT_EQ(stat(session_.runtime().c_str(), &seen), 0);
  EXPECT_EQ(seen.st_mode & 07777, 0700u);
}

TEST_F(Runtime, OptionGoesBeforeTheEnvironment) {
  const std::string other = session_ / "other";
  EXPECT_EQ(status({"--runtime-dir", other}).exit_code, 0);
  EXPECT_TRUE(fs::is_directory(other));
  EXPECT_FALSE(fs::exists(session_.runtime()));
}

TEST_F(Runtime, FolderOpenToOthersIsRefused) {
  for (const unsigned mode : {0755u, 0710u, 0701u}) {
    make_runtime(mode);
    const Result result = status();
    EXPECT_EQ(result.exit_code, kWrong);
    EXPECT_THAT(result.err, HasSubstr("expected 0700"));
  }
}

TEST_F(Runtime, SymbolicLinkToAFolderIsRefused) {
  fs::create_directory_symlink(session_.folder("elsewhere"), session_.runtime());
  const Result result = status();
  EXPECT_EQ(result.exit_code, kWrong);
  EXPECT_THAT(result.err, HasSubstr(session_.runtime()));
}

TEST_F(Runtime, SymbolicLinkAmongTheParentsIsFollowed) {
  fs::create_directory_symlink(session_.folder("elsewhere"), session_ / "link");
  EXPECT_EQ(status({"--runtime-dir", session_ / "link" + "/run"}).exit_code, 0);
  EXPECT_TRUE(fs::is_directory(session_ / "elsewhere/run"));
}

TEST_F(Runtime, FileInPlaceOfTheFolderIsRefused) {
  session_.script("run", "");
  EXPECT_EQ(status().exit_code, kWrong);
}

TEST_F(Runtime, FolderOfAnotherUserIsRefused) {
  NBDCRYPT_REQUIRE(geteuid() == 0, "root");
  ASSERT_EQ(chown(make_runtime().c_str(), 65534, 65534), 0);
  const Result result = status();
  EXPECT_EQ(result.exit_code, kWrong);
  EXPECT_THAT(result.err, HasSubstr("belongs to user 65534"));
}

TEST_F(Runtime, MissingParentIsAnErrorThatNamesTheFolder) {
  const Result result = status({"--runtime-dir", session_ / "no/such/folder"});
  EXPECT_EQ(result.exit_code, kWrong);
  EXPECT_THAT(result.err, HasSubstr("no/such/folder"));
}

TEST_F(Runtime, WithoutAnyFolderTheHintSaysHowToNameOne) {
  NBDCRYPT_REQUIRE(geteuid() == 0, "root");
  const Result result = status_as_nobody("");
  EXPECT_EQ(result.exit_code, kWrong);
  EXPECT_THAT(result.err, HasSubstr("no runtime folder"));
  EXPECT_THAT(result.err, HasSubstr("NBDCRYPT_RUNTIME_DIR"));
}

TEST_F(Runtime, XdgFolderOfAnotherUserDoesNotCount) {
  NBDCRYPT_REQUIRE(geteuid() == 0, "root");
  const Result result = status_as_nobody("XDG_RUNTIME_DIR=" + session_.dir());
  EXPECT_EQ(result.exit_code, kWrong);
  EXPECT_THAT(result.err, HasSubstr("no runtime folder"));
}

TEST_F(Runtime, XdgFolderOfOursIsUsed) {
  NBDCRYPT_REQUIRE(geteuid() == 0, "root");
  const std::string xdg = session_.folder("xdg");
  ASSERT_EQ(chown(xdg.c_str(), 65534, 65534), 0);
  ASSERT_EQ(chmod(session_.dir().c_str(), 0755), 0);
  const Result result = status_as_nobody("XDG_RUNTIME_DIR=" + xdg);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(fs::is_directory(xdg + "/nbdcrypt"));
}

TEST_F(Runtime, UnknownNameIsInactive) {
  const Result result = status({"nothing"});
  EXPECT_EQ(result.exit_code, kMissing);
  EXPECT_EQ(result.out, "nothing is inactive.\n");
  EXPECT_EQ(status({"nothing", "--json"}).out, "null\n");
  EXPECT_EQ(session_.nbdcrypt({"close", "nothing"}).exit_code, kMissing);
}

TEST_F(Runtime, EntryThatIsASymbolicLinkIsRefused) {
  fs::create_directory_symlink(session_.folder("elsewhere"), make_runtime() + "/name");
  EXPECT_EQ(status({"name"}).exit_code, kWrong);
  EXPECT_EQ(session_.nbdcrypt({"close", "name"}).exit_code, kWrong);
  EXPECT_TRUE(fs::is_empty(session_ / "elsewhere"));
}

TEST_F(Runtime, LockThatIsASymbolicLinkIsRefused) {
  const std::string entry = make_runtime() + "/name";
  fs::create_directory(entry);
  chmod(entry.c_str(), 0700);
  fs::create_symlink(session_ / "victim", entry + "/lock");
  EXPECT_EQ(session_.nbdcrypt({"close", "name"}).exit_code, kWrong);
  EXPECT_FALSE(fs::exists(session_ / "victim"));
}

TEST_F(Runtime, StateThatOthersMayWriteIsRefused) {
  const std::string entry = make_runtime() + "/name";
  fs::create_directory(entry);
  chmod(entry.c_str(), 0700);
  std::ofstream(entry + "/state.json") << "{}";
  chmod((entry + "/state.json").c_str(), 0622);
  const Result result = status({"name"});
  EXPECT_EQ(result.exit_code, kWrong);
  EXPECT_THAT(result.err, HasSubstr("expected 0600"));
}

TEST_F(Runtime, EntryOfACommandThatWasKilledIsTakenAway) {
  const std::string entry = make_runtime() + "/name";
  fs::create_directory(entry);
  chmod(entry.c_str(), 0700);
  EXPECT_EQ(session_.nbdcrypt({"close", "name"}).exit_code, kMissing);
  EXPECT_FALSE(fs::exists(entry));
}

struct UnfitName {
  const char* what;
  std::string name;
};
class RuntimeName : public testing::TestWithParam<UnfitName> {};

TEST_P(RuntimeName, IsRefused) {
  const Session session;
  for (const Args& words : {Args{"status", "--", GetParam().name}, Args{"close", "--", GetParam().name}}) {
    const Result result = session.nbdcrypt(words);
    EXPECT_EQ(result.exit_code, kWrong) << words[0];
    EXPECT_THAT(result.err, HasSubstr("name"));
  }
}

INSTANTIATE_TEST_SUITE_P(Unfit, RuntimeName,
                         testing::Values(UnfitName{"empty", ""}, UnfitName{"slash", "a/b"}, UnfitName{"parent", ".."},
                                         UnfitName{"hidden", ".a"}, UnfitName{"newline", "a\nb"},
                                         UnfitName{"escape", "a\x1b[m"}, UnfitName{"delete", "a\x7f"},
                                         UnfitName{"comma", "a,b"}, UnfitName{"backslash", "a\\b"},
                                         UnfitName{"too_long", std::string(128, 'a')}),
                         [](const auto& i) { return std::string(i.param.what); });

TEST_F(Runtime, SocketPathThatIsTooLongIsRefusedBeforeThePassphraseIsRead) {
  NBDCRYPT_REQUIRE_TOOL("cryptsetup");
  const std::string image = session_.luks_image("disk.img", 17);
  const Result result = session_.with_passphrase({"open", image, std::string(90, 'n')});
  EXPECT_EQ(result.exit_code, kWrong);
  EXPECT_THAT(result.err, HasSubstr("at most 107"));
  EXPECT_EQ(session_.leftovers(), "");
}

}  // namespace
}  // namespace nbdcrypt::test
