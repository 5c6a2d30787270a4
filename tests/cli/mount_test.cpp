// SPDX-License-Identifier: Apache-2.0
//
// mount and umount: as root through loop devices and the kernel's ext4, as `nobody` through fuse2fs. What matters most
// is what is left afterwards: nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "tests/cli/session.h"
#include "tests/support/requires.h"

namespace nbdcrypt::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr int kWrong = 1, kMissing = 4, kBusy = 5;

bool mounted(const std::string& directory) {
  return read_file("/proc/self/mountinfo").find(" " + directory + " ") != std::string::npos;
}

class Mount : public testing::Test {
 protected:
  void SetUp() override {
    NBDCRYPT_REQUIRE(geteuid() == 0, "root");
    for (const char* tool : {"nbdkit", "nbdfuse", "fusermount3", "cryptsetup", "losetup", "mkfs.ext4", "setpriv"})
      NBDCRYPT_REQUIRE_TOOL(tool);
    NBDCRYPT_REQUIRE(access("/dev/fuse", R_OK | W_OK) == 0, "/dev/fuse");
    NBDCRYPT_REQUIRE(access("/dev/loop-control", R_OK | W_OK) == 0, "loop devices");
    directory_ = session_.folder("mnt");
  }
  // Runs a command on the open volume's file.
  void inside(const std::string& image, const Args& words) {
    ASSERT_EQ(session_.with_passphrase({"open", "--attach", "fuse", image, "setup"}).exit_code, 0);
    const Result result = run(words + Args{session_.in("setup", "dev")}, {.input = input_});
    EXPECT_TRUE(result.ok()) << result.err;
    ASSERT_EQ(session_.nbdcrypt({"close", "setup"}).exit_code, 0);
  }
  std::string ext4_image(const std::string& name = "disk.img") {
    const std::string image = session_.luks_image(name, 40);
    inside(image, {"mkfs.ext4", "-q", "-F"});
    return image;
  }
  Result mount(const std::string& image, const Args& more = {}) {
    return session_.with_passphrase(Args{"mount", image, directory_} + more);
  }
  Result umount() { return session_.nbdcrypt({"umount", directory_}); }
  void expect_nothing_left() {
    EXPECT_TRUE(eventually([this] { return session_.leftovers().empty(); })) << session_.leftovers();
    EXPECT_FALSE(mounted(directory_));
  }

  Session session_;
  std::string directory_, input_;
};

TEST_F(Mount, FilesSurviveUmountAndNothingElseDoes) {
  const std::string image = ext4_image();
  const Result result = mount(image);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("mounted: " + directory_ + "\n"));
  const std::string text(300000, 'x');
  std::ofstream(directory_ + "/file") << text;
  EXPECT_THAT(session_.nbdcrypt({"status", "disk.img"}).out, HasSubstr("disk.img is active and is in use."));
  EXPECT_THAT(session_.nbdcrypt({"status", "disk.img"}).out, HasSubstr("mounted on:  " + directory_));
  const Result unmounted = umount();
  EXPECT_EQ(unmounted.exit_code, 0) << unmounted.err;
  expect_nothing_left();

  ASSERT_EQ(mount(image, {"--readonly", "--name", "other"}).exit_code, 0);
  EXPECT_EQ(read_file(directory_ + "/file"), text);
  EXPECT_FALSE(std::ofstream(directory_ + "/new").good());
  EXPECT_EQ(session_.nbdcrypt({"status", "other"}).exit_code, 0);
  EXPECT_EQ(umount().exit_code, 0);
  expect_nothing_left();
}

TEST_F(Mount, FileSystemIsSoundAfterwards) {
  const std::string image = ext4_image();
  ASSERT_EQ(mount(image).exit_code, 0);
  for (int i = 0; i < 200; ++i)
    std::ofstream(directory_ + "/" + std::to_string(i)) << std::string(static_cast<std::size_t>(i) * 37, 'f');
  ASSERT_EQ(umount().exit_code, 0);
  inside(image, {"e2fsck", "-f", "-n"});
}

TEST_F(Mount, OptionsReachTheFileSystem) {
  ASSERT_EQ(mount(ext4_image(), {"--options", "noexec,data=journal"}).exit_code, 0);
  const std::string table = read_file("/proc/self/mountinfo");
  const std::string line = table.substr(table.find(" " + directory_ + " "), 200);
  EXPECT_THAT(line, HasSubstr("noexec"));
  EXPECT_THAT(line, HasSubstr("data=journal"));
  EXPECT_EQ(umount().exit_code, 0);
}

TEST_F(Mount, NamesOfTwoImagesAlikeDiffer) {
  const std::string first = ext4_image();
  const std::string folder = session_.folder("b");
  fs::copy_file(first, folder + "/disk.img");
  const std::string other = session_.folder("mnt2");
  ASSERT_EQ(mount(first).exit_code, 0);
  ASSERT_EQ(session_.with_passphrase({"mount", folder + "/disk.img", other}).exit_code, 0);
  EXPECT_EQ(session_.nbdcrypt({"status", "disk.img-2"}).exit_code, 0);
  EXPECT_EQ(session_.nbdcrypt({"umount", other}).exit_code, 0);
  EXPECT_EQ(umount().exit_code, 0);
  expect_nothing_left();
}

TEST_F(Mount, VolumeWithoutAFileSystemIsUndone) {
  const std::string image = session_.luks_image();
  const Result nothing = mount(image);
  EXPECT_EQ(nothing.exit_code, kWrong);
  EXPECT_THAT(nothing.err, HasSubstr("no file system found"));
  expect_nothing_left();
  const Result wrong = mount(image, {"--fstype", "ext4"});
  EXPECT_EQ(wrong.exit_code, kWrong);
  EXPECT_THAT(wrong.err, HasSubstr("mount: "));
  expect_nothing_left();
  EXPECT_EQ(mount(image, {"--fstype", "nonsense"}).exit_code, kWrong);
  expect_nothing_left();
}

TEST_F(Mount, DirectoryThatWillNotDoIsRefusedBeforeAnythingIsOpened) {
  const std::string image = session_.luks_image();
  EXPECT_EQ(session_.with_passphrase({"mount", image, session_ / "missing"}).exit_code, kMissing);
  EXPECT_EQ(session_.with_passphrase({"mount", image, image}).exit_code, kMissing);
  const Result busy = session_.with_passphrase({"mount", image, "/proc"});
  EXPECT_EQ(busy.exit_code, kBusy);
  EXPECT_THAT(busy.err, HasSubstr("/proc"));
  EXPECT_EQ(mount(image, {"--attach", "none"}).exit_code, kWrong);
  expect_nothing_left();
}

TEST_F(Mount, UmountOfWhatIsNotOursIsRefused) {
  EXPECT_EQ(umount().exit_code, kMissing);
  EXPECT_EQ(session_.nbdcrypt({"umount", "/proc"}).exit_code, kMissing);
  EXPECT_TRUE(mounted("/proc"));
}

TEST_F(Mount, UmountOfABusyOneChangesNothing) {
  ASSERT_EQ(mount(ext4_image()).exit_code, 0);
  {
    std::ofstream user(directory_ + "/open");
    const Result busy = umount();
    EXPECT_EQ(busy.exit_code, kBusy);
    EXPECT_THAT(busy.err, HasSubstr("busy"));
    user << "still there";
    EXPECT_TRUE(user.flush().good());
  }
  EXPECT_EQ(read_file(directory_ + "/open"), "still there");
  EXPECT_EQ(umount().exit_code, 0);
  expect_nothing_left();
}

TEST_F(Mount, CloseRefusesAndNamesTheMountPoint) {
  ASSERT_EQ(mount(ext4_image()).exit_code, 0);
  const Result refused = session_.nbdcrypt({"close", "disk.img"});
  EXPECT_EQ(refused.exit_code, kBusy);
  EXPECT_THAT(refused.err, HasSubstr("mounted on " + directory_));
  EXPECT_EQ(umount().exit_code, 0);
}

TEST_F(Mount, UmountFinishesWhatSomebodyElseHasUnmounted) {
  ASSERT_EQ(mount(ext4_image()).exit_code, 0);
  ASSERT_EQ(run({"umount", directory_}).exit_code, 0);
  const Result result = umount();
  EXPECT_EQ(result.exit_code, 0) << result.err;
  expect_nothing_left();
}

TEST_F(Mount, MountPointIsFoundByAnyOfItsNames) {
  ASSERT_EQ(mount(ext4_image()).exit_code, 0);
  fs::create_directory_symlink(session_.dir(), session_ / "link");
  EXPECT_EQ(session_.nbdcrypt({"umount", session_ / "link" + "/./mnt/"}).exit_code, 0);
  expect_nothing_left();
}

TEST_F(Mount, UmountCleansUpAfterAServerThatWasKilled) {
  ASSERT_EQ(mount(ext4_image()).exit_code, 0);
  session_.kill_server("disk.img");
  const Result result = umount();
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("its server has ended"));
  expect_nothing_left();
}

TEST_F(Mount, NextCommandCleansUpAfterAServerThatWasKilled) {
  const std::string image = ext4_image();
  ASSERT_EQ(mount(image).exit_code, 0);
  session_.kill_server("disk.img");
  const Result status = session_.nbdcrypt({"status"});
  EXPECT_EQ(status.exit_code, 0);
  EXPECT_THAT(status.err, HasSubstr("disk.img: its server has ended; cleaned up"));
  expect_nothing_left();
  EXPECT_EQ(mount(image).exit_code, 0);
  EXPECT_EQ(umount().exit_code, 0);
}

TEST_F(Mount, BusyOneIsTakenOutOfTheTreeAfterItsServerWasKilled) {
  ASSERT_EQ(mount(ext4_image()).exit_code, 0);
  {
    const std::ofstream user(directory_ + "/open");
    session_.kill_server("disk.img");
    EXPECT_EQ(umount().exit_code, 0);
    EXPECT_FALSE(mounted(directory_));
  }
  expect_nothing_left();
}

TEST_F(Mount, InterruptInTheMiddleIsUndone) {
  const std::string image = ext4_image();
  session_.script("mount", "/bin/mount \"$@\"; exec sleep 60");
  Child mounting = session_.start({"mount", image, directory_, "--key-file", session_.key_file()},
                                  {{"PATH", session_.dir() + ":" + std::getenv("PATH")}});
  ASSERT_TRUE(eventually([&] { return mounted(directory_); }));
  EXPECT_EQ(mounting.stop(SIGINT), kWrong);
  EXPECT_FALSE(mounted(directory_));
  expect_nothing_left();
}

TEST_F(Mount, PartitionsAreListedAndMountedByNumber) {
  NBDCRYPT_REQUIRE_TOOL("sfdisk");
  const std::string image = session_.luks_image("disk.img", 48);
  ASSERT_EQ(session_.with_passphrase({"open", "--attach", "fuse", image, "setup"}).exit_code, 0);
  const std::string loop = check({"losetup", "-f", "--show", "--sector-size", "4096", session_.in("setup", "dev")});
  const std::string device = loop.substr(0, loop.size() - 1);
  check({"sfdisk", "-q", device}, {.input = "label: gpt\n,8M\n,16M\n"});
  check({"losetup", "-d", device});
  ASSERT_EQ(session_.nbdcrypt({"close", "setup"}).exit_code, 0);

  const Result listed = mount(image);
  EXPECT_EQ(listed.exit_code, kWrong);
  EXPECT_THAT(listed.err, HasSubstr("1 (8192 KiB), 2 (16384 KiB)"));
  EXPECT_EQ(mount(image, {"--partition", "3"}).exit_code, kWrong);
  expect_nothing_left();
  const Result empty = mount(image, {"--partition", "2"});
  EXPECT_EQ(empty.exit_code, kWrong);
  EXPECT_THAT(empty.err, HasSubstr("no file system found"));

  ASSERT_EQ(session_.with_passphrase({"open", "--attach", "fuse", image, "setup"}).exit_code, 0);
  const std::string second =
      check({"losetup", "-f", "--show", "--sector-size", "4096", "--offset", std::to_string((1 << 20) + (8 << 20)),
             "--sizelimit", std::to_string(16 << 20), session_.in("setup", "dev")});
  check({"mkfs.ext4", "-q", second.substr(0, second.size() - 1)});
  check({"losetup", "-d", second.substr(0, second.size() - 1)});
  ASSERT_EQ(session_.nbdcrypt({"close", "setup"}).exit_code, 0);
  const Result result = mount(image, {"--partition", "2"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  std::ofstream(directory_ + "/file") << "in the second";
  EXPECT_EQ(umount().exit_code, 0);
  expect_nothing_left();
}

// ---- without root ----

class MountAsNobody : public Mount {
 protected:
  void SetUp() override {
    Mount::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    NBDCRYPT_REQUIRE_TOOL("fuse2fs");
    chmod(session_.dir().c_str(), 0777);
    chmod(session_.key_file().c_str(), 0644);
    NBDCRYPT_REQUIRE(session_.as_nobody({NBDCRYPT_PROGRAM, "--version"}).ok(),
                     "a build folder that everybody may read");
    check({"chown", "65534:65534", directory_});
  }
  Result nobody(const Args& words) { return session_.as_nobody(Args{NBDCRYPT_PROGRAM} + words, kPassphrase); }
  std::string image_of_nobody() {
    const std::string image = session_.luks_image("disk.img", 40);
    check({"chown", "65534:65534", image});
    return image;
  }
};

TEST_F(MountAsNobody, OpensFormatsMountsAndUnmountsWithoutRoot) {
  const FuseAccess everybody(true);
  const std::string image = image_of_nobody();
  const Result opened = nobody({"open", image, "vol"});
  ASSERT_EQ(opened.exit_code, 0) << opened.err;
  const Result made = session_.as_nobody({"mkfs.ext4", "-q", "-F", session_.in("vol", "dev")});
  ASSERT_TRUE(made.ok()) << made.err;
  ASSERT_EQ(nobody({"close", "vol"}).exit_code, 0);

  const Result result = nobody({"mount", image, directory_});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const std::string text(100000, 'n');
  session_.as_nobody({"tee", directory_ + "/file"}, text);
  const Result status = nobody({"status", "disk.img"});
  EXPECT_THAT(status.out, HasSubstr("mounted on:  " + directory_));
  const Result unmounted = nobody({"umount", directory_});
  EXPECT_EQ(unmounted.exit_code, 0) << unmounted.err;
  expect_nothing_left();

  ASSERT_EQ(nobody({"mount", "--readonly", image, directory_}).exit_code, 0);
  EXPECT_EQ(session_.as_nobody({"cat", directory_ + "/file"}).out, text);
  EXPECT_FALSE(session_.as_nobody({"touch", directory_ + "/new"}).ok());
  EXPECT_EQ(nobody({"umount", directory_}).exit_code, 0);
  expect_nothing_left();
}

TEST_F(MountAsNobody, UmountCleansUpAfterAServerThatWasKilled) {
  const FuseAccess everybody(true);
  const std::string image = image_of_nobody();
  ASSERT_EQ(nobody({"open", image, "vol"}).exit_code, 0);
  ASSERT_TRUE(session_.as_nobody({"mkfs.ext4", "-q", "-F", session_.in("vol", "dev")}).ok());
  ASSERT_EQ(nobody({"close", "vol"}).exit_code, 0);
  ASSERT_EQ(nobody({"mount", image, directory_}).exit_code, 0);
  session_.kill_server("disk.img");
  const Result result = nobody({"umount", directory_});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  expect_nothing_left();
}

TEST_F(MountAsNobody, FileSystemForRootOnlyIsRefusedByName) {
  NBDCRYPT_REQUIRE_TOOL("mkswap");
  const FuseAccess everybody(true);
  const std::string image = image_of_nobody();
  ASSERT_EQ(nobody({"open", image, "vol"}).exit_code, 0);
  ASSERT_TRUE(session_.as_nobody({"mkswap", session_.in("vol", "dev")}).ok());
  ASSERT_EQ(nobody({"close", "vol"}).exit_code, 0);
  const Result result = nobody({"mount", image, directory_});
  EXPECT_EQ(result.exit_code, kWrong);
  EXPECT_THAT(result.err, HasSubstr("swap: can be mounted by root only"));
  expect_nothing_left();
}

TEST_F(MountAsNobody, WithoutFuseMountIsRefusedWithAHintAndOpenOnlyServes) {
  const FuseAccess only_root(false);
  const std::string image = image_of_nobody();
  const Result refused = nobody({"mount", image, directory_});
  EXPECT_EQ(refused.exit_code, kMissing);
  EXPECT_THAT(refused.err, HasSubstr("/dev/fuse: Permission denied"));
  EXPECT_THAT(refused.err, HasSubstr("hint: "));
  const Result opened = nobody({"open", image, "vol"});
  EXPECT_EQ(opened.exit_code, 0) << opened.err;
  EXPECT_EQ(opened.out, "uri: " + session_.uri("vol") + "\n");
  EXPECT_THAT(opened.err, HasSubstr("not attached, only served: /dev/fuse"));
  EXPECT_EQ(nobody({"open", "--attach", "fuse", image, "other"}).exit_code, kBusy);
  EXPECT_EQ(nobody({"close", "vol"}).exit_code, 0);
  EXPECT_EQ(nobody({"open", "--attach", "fuse", image, "other"}).exit_code, kMissing);
  expect_nothing_left();
}

}  // namespace
}  // namespace nbdcrypt::test
