// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "base/error.h"
#include "tests/support/process.h"
#include "tests/support/requires.h"
#include "tests/support/temp_dir.h"
#include "tests/volume/loop_device.h"
#include "volume/file_store.h"

namespace nbdcrypt::test {
namespace {

using base::Kind;
using volume::Access;
using volume::FileDescriptor;

/// Kind and text of what open_image() says.
std::pair<Kind, std::string> refusal(const std::string& path, Access access) {
  try {
    volume::open_image(path, access);
  } catch (const base::Error& error) { return {error.kind(), error.what()}; }
  return {Kind::usage, "opened"};
}

TEST(OpenImage, OpensFilesCloseOnExecAndBlocking) {
  const TempDir dir;
  const FileDescriptor fd = volume::open_image(dir.sparse("disk.img", 1000), Access::read_write);
  EXPECT_EQ(fcntl(fd.get(), F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
  EXPECT_EQ(fcntl(fd.get(), F_GETFL) & (O_NONBLOCK | O_ACCMODE), O_RDWR);
  EXPECT_EQ(volume::size_of(fd.get(), "disk.img"), 1000u);
}

TEST(OpenImage, ReadOnlyMeansReadOnly) {
  const TempDir dir;
  const FileDescriptor fd = volume::open_image(dir.sparse("disk.img", 1000), Access::read_only);
  EXPECT_EQ(fcntl(fd.get(), F_GETFL) & O_ACCMODE, O_RDONLY);
}

TEST(OpenImage, MissingFileIsTheWrongDevice) {
  const TempDir dir;
  EXPECT_EQ(refusal(dir / "none", Access::read_only),
            std::pair(Kind::device, dir / "none" + ": No such file or directory"));
}

TEST(OpenImage, FolderIsRefusedEitherWay) {
  const TempDir dir;
  const std::pair expected(Kind::device, dir.path() + ": Is a directory");
  EXPECT_EQ(refusal(dir.path(), Access::read_only), expected);
  EXPECT_EQ(refusal(dir.path(), Access::read_write), expected);
}

TEST(OpenImage, FifoIsRefusedWithoutWaitingForItsOtherEnd) {
  const TempDir dir;
  ASSERT_EQ(mkfifo((dir / "fifo").c_str(), 0600), 0);
  EXPECT_EQ(refusal(dir / "fifo", Access::read_only),
            std::pair(Kind::device, dir / "fifo" + ": neither a regular file nor a block device"));
}

TEST(OpenImage, CharacterDeviceIsRefused) {
  EXPECT_EQ(refusal("/dev/full", Access::read_write),
            std::pair(Kind::device, std::string("/dev/full: neither a regular file nor a block device")));
}

TEST(OpenImage, FileOfSomebodyElseIsTheWrongDevice) {
  NBDCRYPT_REQUIRE(geteuid() == 0, "root");
  const TempDir dir;
  const std::string path = dir.sparse("disk.img", 1000);
  ASSERT_EQ(chmod(path.c_str(), 0600), 0);
  ASSERT_EQ(chmod(dir.path().c_str(), 0755), 0);
  ASSERT_EQ(seteuid(65534), 0);
  const auto said = refusal(path, Access::read_only);
  ASSERT_EQ(seteuid(0), 0);
  EXPECT_EQ(said, std::pair(Kind::device, path + ": Permission denied"));
}

TEST(SizeOf, RefusesWhatHasNoSize) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const FileDescriptor out(ends[0]), in(ends[1]);
  EXPECT_THROW(volume::size_of(out.get(), "pipe"), base::Error);
}

TEST(FileDescriptor, MovesAndCloses) {
  FileDescriptor first(open("/dev/null", O_RDONLY | O_CLOEXEC));
  const int number = first.get();
  FileDescriptor second(std::move(first));
  EXPECT_FALSE(first);
  EXPECT_EQ(second.get(), number);
  second = FileDescriptor();
  EXPECT_EQ(fcntl(number, F_GETFD), -1);
}

TEST(BlockDevice, HasASizeAndIsOpenedForWritingByOneAlone) {
  NBDCRYPT_REQUIRE(can_make_loop_devices(), "loop devices");
  const TempDir dir(NBDCRYPT_DISK_FOLDER);
  const LoopDevice device(dir.sparse("disk.img", 1 << 20));
  const FileDescriptor first = volume::open_image(device.path(), Access::read_write);
  EXPECT_EQ(volume::size_of(first.get(), device.path()), 1u << 20);
  EXPECT_EQ(refusal(device.path(), Access::read_write),
            std::pair(Kind::busy, device.path() + ": Device or resource busy"));
  EXPECT_TRUE(volume::open_image(device.path(), Access::read_only));
}

}  // namespace
}  // namespace nbdcrypt::test
