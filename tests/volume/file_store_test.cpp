// SPDX-License-Identifier: Apache-2.0
//
// FileStore on real files and devices, with system calls that are cut short, interrupted or failing where a test says
// so.
#include "volume/file_store.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <random>
#include <thread>

#include "tests/support/requires.h"
#include "tests/support/temp_dir.h"
#include "tests/volume/loop_device.h"
#include "tests/volume/system_calls.h"
#include "tests/volume/volumes.h"

namespace nbdcrypt::test {
namespace {

using volume::Access;
using volume::FileStore;

class FileStoreTest : public testing::Test {
 protected:
  void SetUp() override { system_calls.reset(); }
  void TearDown() override { system_calls.reset(); }

  std::string image(std::uint64_t bytes = 64 * 1024) { return dir_.sparse("disk.img", bytes); }

  TempDir dir_;
  std::mt19937_64 random_{1};
};

Bytes read(FileStore& store, std::uint64_t offset, std::size_t bytes) {
  Bytes out(bytes, 0xee);
  store.read(offset, out);
  return out;
}

TEST_F(FileStoreTest, ReadsWhatWasWrittenToTheFile) {
  const std::string path = image();
  FileStore store(path, Access::read_write);
  const Bytes data = random_bytes(random_, 5000);
  store.write(1234, data);
  EXPECT_EQ(read(store, 1234, 5000), data);
  EXPECT_EQ(read_file(path).substr(1234, 5000), std::string(data.begin(), data.end()));
  EXPECT_EQ(store.size(), 64u * 1024);
  EXPECT_EQ(store.name(), path);
  EXPECT_TRUE(store.writes_are_atomic());
}

TEST_F(FileStoreTest, CarriesOnAfterShortAndInterruptedTransfers) {
  FileStore store(image(), Access::read_write);
  const Bytes data = random_bytes(random_, 10000);
  system_calls.max_bytes = 999;
  system_calls.interrupted = true;
  store.write(77, data);
  EXPECT_EQ(read(store, 77, 10000), data);
  EXPECT_EQ(system_calls.transfers, 2 * 2 * 11);  // write and read, each of eleven parts interrupted once
  store.flush();
  store.trim(0, 4096);
}

TEST_F(FileStoreTest, TruncatedImageIsAnErrorNotZeros) {
  const std::string path = image();
  FileStore store(path, Access::read_write);
  std::filesystem::resize_file(path, 10000);
  const auto beyond = [&] { read(store, 8192, 4096); };
  EXPECT_EQ(errno_of(beyond), EIO);
  EXPECT_EQ(message_of(beyond), path + ": read of 4096 bytes at 8192: the image ends at 10000");
}

TEST_F(FileStoreTest, ErrorsOfTheSystemKeepTheirErrno) {
  const std::string path = image();
  FileStore store(path, Access::read_write);
  for (const int error : {EIO, ENOSPC, EROFS, EDQUOT, ENOMEM}) {
    system_calls.pread_error = system_calls.pwrite_error = error;
    EXPECT_EQ(errno_of([&] { read(store, 0, 512); }), error);
    EXPECT_EQ(errno_of([&] { store.write(0, Bytes(512)); }), error);
  }
  system_calls.pread_error = EIO;
  EXPECT_EQ(message_of([&] { read(store, 512, 100); }), path + ": read of 100 bytes at 512: Input/output error");
}

/// A file system of 16 KiB, mounted while this lives.
class SmallDisk {
 public:
  explicit SmallDisk(const std::string& folder) : folder_(folder) {
    std::filesystem::create_directory(folder);
    mounted_ = mount("none", folder.c_str(), "tmpfs", 0, "size=16k") == 0;
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  ~SmallDisk() {
    if (mounted_) umount2(folder_.c_str(), MNT_DETACH);
  }
  bool mounted() const { return mounted_; }

 private:
  std::string folder_;
  bool mounted_;
};

TEST_F(FileStoreTest, FullDiskIsReportedAsSuch) {
  const SmallDisk disk(dir_ / "small");
  NBDCRYPT_REQUIRE(disk.mounted(), "mount(2), for a disk that is soon full");
  const std::string path = dir_ / "small/disk.img";
  std::ofstream(path).close();
  std::filesystem::resize_file(path, 1 << 20);
  FileStore store(path, Access::read_write);
  store.write(0, Bytes(4096, 1));
  EXPECT_EQ(errno_of([&] { store.write(8192, Bytes(32 * 1024, 1)); }), ENOSPC);
  EXPECT_EQ(message_of([&] { store.write(65536, Bytes(4096, 1)); }),
            path + ": write of 4096 bytes at 65536: No space left on device");
  EXPECT_EQ(read(store, 0, 4096), Bytes(4096, 1));
}

TEST_F(FileStoreTest, DoesNotGrow) {
  const std::string path = image(10000);
  FileStore store(path, Access::read_write);
  EXPECT_EQ(errno_of([&] { store.write(9999, Bytes(2)); }), ENOSPC);
  EXPECT_EQ(errno_of([&] { store.write(UINT64_MAX, Bytes(2)); }), ENOSPC);
  EXPECT_EQ(std::filesystem::file_size(path), 10000u);
}

TEST_F(FileStoreTest, FailedFlushFailsForEverAndInEveryThread) {
  const std::string path = image();
  FileStore store(path, Access::read_write);
  store.flush();
  system_calls.fdatasync_error = EIO;
  EXPECT_EQ(message_of([&] { store.flush(); }), path + ": flush: Input/output error");
  EXPECT_EQ(errno_of([&] { store.flush(); }), EIO);
  std::thread([&] {
    EXPECT_EQ(message_of([&] { store.flush(); }), path + ": an earlier flush failed: Input/output error");
  }).join();
}

TEST_F(FileStoreTest, FlushBesideAFailingOneFailsToo) {
  FileStore store(image(), Access::read_write);
  system_calls.hold_fdatasync = true;
  system_calls.fdatasync_error = ENOSPC;
  std::atomic<int> failures{0};
  const auto flush = [&] { failures += errno_of([&] { store.flush(); }) == ENOSPC; };
  std::thread first(flush);
  while (system_calls.fdatasyncs == 0) std::this_thread::yield();
  std::thread second(flush);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  system_calls.hold_fdatasync = false;
  first.join();
  second.join();
  EXPECT_EQ(failures, 2);
}

TEST_F(FileStoreTest, FlushesThatWaitTogetherShareOneSync) {
  FileStore store(image(), Access::read_write);
  system_calls.hold_fdatasync = true;
  std::vector<std::thread> threads;
  threads.emplace_back([&] { store.flush(); });
  while (system_calls.fdatasyncs == 0) std::this_thread::yield();
  for (int i = 0; i < 8; ++i) threads.emplace_back([&] { store.flush(); });
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  system_calls.hold_fdatasync = false;
  for (std::thread& thread : threads) thread.join();
  EXPECT_GE(system_calls.fdatasyncs, 2);  // the one that was running may have missed what the others wrote
  EXPECT_LT(system_calls.fdatasyncs, 9);
  store.flush();  // alone again: a sync of its own
  EXPECT_GE(system_calls.fdatasyncs, 3);
}

TEST_F(FileStoreTest, ReadOnlyStoreHasNothingToFlush) {
  FileStore store(image(), Access::read_only);
  system_calls.fdatasync_error = EINVAL;  // what file systems without sync answer
  store.flush();
  EXPECT_EQ(errno_of([&] { store.write(0, Bytes(1)); }), EBADF);
}

TEST_F(FileStoreTest, TrimGivesSpaceBack) {
  const std::string path = image();
  FileStore store(path, Access::read_write);
  store.write(0, Bytes(64 * 1024, 1));
  struct stat before, after;
  ASSERT_EQ(stat(path.c_str(), &before), 0);
  store.trim(4096, 32768);
  ASSERT_EQ(stat(path.c_str(), &after), 0);
  EXPECT_EQ(before.st_blocks - after.st_blocks, 32768 / 512);
  EXPECT_EQ(after.st_size, before.st_size);
  EXPECT_EQ(read(store, 0, 4096), Bytes(4096, 1));
  EXPECT_EQ(read(store, 4096 + 32768, 4096), Bytes(4096, 1));
  store.trim(100, 0);
}

TEST_F(FileStoreTest, TrimIsQuietWhereThereIsNoneAndLoudWhenItFails) {
  FileStore store(image(), Access::read_write);
  for (const int error : {EOPNOTSUPP, ENOSYS}) {
    system_calls.fallocate_error = error;
    EXPECT_NO_THROW(store.trim(0, 4096));
  }
  system_calls.fallocate_error = EIO;
  EXPECT_EQ(errno_of([&] { store.trim(0, 4096); }), EIO);
}

TEST_F(FileStoreTest, PrefetchTellsTheKernel) {
  FileStore store(image(), Access::read_only);
  store.prefetch(4096, 8192);
  EXPECT_EQ(system_calls.advised_offset, 4096);
  EXPECT_EQ(system_calls.advised_bytes, 8192);
}

TEST_F(FileStoreTest, PastThePageCacheBlocksMustBeWhole) {
  const TempDir dir(NBDCRYPT_DISK_FOLDER);
  FileStore store(dir.sparse("disk.img", 1 << 20), Access::read_write);
  EXPECT_EQ(store.alignment(), 1u);
  EXPECT_TRUE(store.writes_are_atomic());
  store.bypass_page_cache();
  EXPECT_NE(fcntl(store.fd(), F_GETFL) & O_DIRECT, 0);
  EXPECT_FALSE(store.writes_are_atomic());
  alignas(4096) static Byte block[4096] = {1, 2, 3}, seen[4096];
  store.write(8192, block);
  store.read(8192, seen);
  EXPECT_TRUE(std::ranges::equal(block, seen));
  EXPECT_EQ(errno_of([&] { store.write(1, std::span(block).first(7)); }), EINVAL);
}

TEST_F(FileStoreTest, PrefetchSaysNothingPastThePageCache) {
  const TempDir dir(NBDCRYPT_DISK_FOLDER);
  FileStore store(dir.sparse("disk.img", 1 << 20), Access::read_only);
  store.bypass_page_cache();
  system_calls.advised_bytes = -1;
  store.prefetch(4096, 8192);
  EXPECT_EQ(system_calls.advised_bytes, -1);
}

TEST_F(FileStoreTest, FileSystemWithoutDirectIoIsNamed) {
  FileStore store("/proc/version", Access::read_only);
  EXPECT_EQ(message_of([&] { store.bypass_page_cache(); }), "/proc/version: direct: its file system has no direct I/O");
  EXPECT_EQ(store.alignment(), 1u);
}

TEST_F(FileStoreTest, BlockDeviceReadsWritesFlushesAndTrims) {
  NBDCRYPT_REQUIRE(can_make_loop_devices(), "loop devices");
  const TempDir dir(NBDCRYPT_DISK_FOLDER);
  const LoopDevice device(dir.sparse("disk.img", 1 << 20));
  FileStore store(device.path(), Access::read_write);
  EXPECT_EQ(store.size(), 1u << 20);
  EXPECT_FALSE(store.writes_are_atomic());
  const Bytes data = random_bytes(random_, 5001);
  store.write(70001, data);
  store.flush();
  EXPECT_EQ(read(store, 70001, 5001), data);
  store.trim(65536, 65536);
  EXPECT_NE(read(store, 70001, 5001), data);
  store.trim(1, 1);  // finer than the device can do: not an error
  EXPECT_EQ(errno_of([&] { store.write((1 << 20) - 1, Bytes(2)); }), ENOSPC);
}

}  // namespace
}  // namespace nbdcrypt::test
