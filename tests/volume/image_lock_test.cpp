// SPDX-License-Identifier: Apache-2.0
//
// The locks among ourselves, across fork(), and against the real QEMU and cryptsetup.
#include "volume/image_lock.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <optional>

#include "base/error.h"
#include "tests/support/process.h"
#include "tests/support/requires.h"
#include "tests/support/server.h"
#include "tests/support/temp_dir.h"
#include "volume/file_store.h"

namespace nbdcrypt::test {
namespace {

using testing::HasSubstr;
using volume::FileDescriptor;
using volume::LockMode;

class ImageLock : public testing::Test {
 protected:
  FileDescriptor open() const { return volume::open_image(image_, volume::Access::read_write); }

  FileDescriptor locked(LockMode mode) const {
    FileDescriptor fd = open();
    volume::lock_image(fd.get(), image_, mode);
    return fd;
  }

  /// What lock_image() says; "taken" when it takes the locks (which are gone again afterwards).
  std::string attempt(LockMode mode) const {
    const FileDescriptor fd = open();
    try {
      volume::lock_image(fd.get(), image_, mode);
    } catch (const base::Error& error) {
      EXPECT_EQ(error.kind(), base::Kind::busy);
      return error.what();
    }
    return "taken";
  }

  std::string in_use_by(const std::string& name, pid_t pid) const {
    return image_ + ": in use by " + name + " (process " + std::to_string(pid) + ")";
  }
  std::string in_use_by_us() const { return in_use_by("test-volume", getpid()); }

  TempDir dir_;
  std::string image_ = dir_.sparse("disk.img", 1 << 20);
};

TEST_F(ImageLock, ReadersShare) {
  const FileDescriptor first = locked(LockMode::shared_read);
  EXPECT_EQ(attempt(LockMode::shared_read), "taken");
}

TEST_F(ImageLock, WritersExcludeEachOtherAndReaders) {
  const FileDescriptor writer = locked(LockMode::exclusive_write);
  EXPECT_EQ(attempt(LockMode::exclusive_write), in_use_by_us());
  EXPECT_EQ(attempt(LockMode::shared_read), in_use_by_us());
}

TEST_F(ImageLock, ReadersKeepWritersOut) {
  const FileDescriptor reader = locked(LockMode::shared_read);
  EXPECT_EQ(attempt(LockMode::exclusive_write), in_use_by_us());
}

TEST_F(ImageLock, RefusedAttemptLeavesNothingBehind) {
  std::optional<FileDescriptor> holder(locked(LockMode::exclusive_write));
  const FileDescriptor refused = open();
  EXPECT_THROW(volume::lock_image(refused.get(), image_, LockMode::exclusive_write), base::Error);
  holder.reset();
  EXPECT_EQ(attempt(LockMode::exclusive_write), "taken");
}

TEST_F(ImageLock, CheckTakesNothing) {
  const FileDescriptor checked = open();
  volume::check_image_unlocked(checked.get(), image_, LockMode::exclusive_write);
  const FileDescriptor holder = locked(LockMode::exclusive_write);
  EXPECT_THROW(volume::check_image_unlocked(checked.get(), image_, LockMode::shared_read), base::Error);
}

TEST_F(ImageLock, SurvivesForkAndEndsWithTheLastDescriptor) {
  std::optional<FileDescriptor> holder(locked(LockMode::exclusive_write));
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {  // keeps the descriptor until told to go
    char byte;
    close(ends[1]);
    while (::read(ends[0], &byte, 1) > 0) {}
    _exit(0);
  }
  close(ends[0]);
  holder.reset();
  EXPECT_EQ(attempt(LockMode::shared_read), in_use_by("test-volume", child));
  close(ends[1]);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_EQ(attempt(LockMode::exclusive_write), "taken");
}

TEST_F(ImageLock, TraditionalLockOfAnotherProcessIsRespected) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    struct flock all = {};
    all.l_type = F_WRLCK;
    const int fd = ::open(image_.c_str(), O_RDWR | O_CLOEXEC);
    const bool taken = fcntl(fd, F_SETLK, &all) == 0;
    if (::write(ends[1], taken ? "1" : "0", 1) == 1) pause();
    _exit(1);
  }
  char taken = '0';
  ASSERT_EQ(::read(ends[0], &taken, 1), 1);
  EXPECT_EQ(taken, '1');
  EXPECT_EQ(attempt(LockMode::shared_read), in_use_by("test-volume", child));
  kill(child, SIGKILL);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  close(ends[0]);
  close(ends[1]);
}

Result qemu_write(const std::string& image) { return run({"qemu-io", "-f", "raw", "-c", "write 0 512", image}); }

TEST_F(ImageLock, QemuMayNotWriteWhatWeServe) {
  NBDCRYPT_REQUIRE_TOOL("qemu-io");
  for (const LockMode mode : {LockMode::shared_read, LockMode::exclusive_write}) {
    const FileDescriptor holder = locked(mode);
    const Result result = qemu_write(image_);
    EXPECT_FALSE(result.ok());
    EXPECT_THAT(result.out + result.err, HasSubstr("lock"));
  }
  EXPECT_TRUE(qemu_write(image_).ok());
}

TEST_F(ImageLock, QemuMayReadWhatWeServeReadOnly) {
  NBDCRYPT_REQUIRE_TOOL("qemu-img");
  const Args convert{"qemu-img", "convert", "-f", "raw", "-O", "raw", image_, dir_ / "copy"};
  {
    const FileDescriptor holder = locked(LockMode::shared_read);
    EXPECT_TRUE(run(convert).ok());
    EXPECT_TRUE(run({"qemu-img", "info", "-f", "raw", image_}).ok());
    EXPECT_TRUE(run({"qemu-io", "-r", "-f", "raw", "-c", "read 0 512", image_}).ok());
  }
  const FileDescriptor holder = locked(LockMode::exclusive_write);
  const Result result = run(convert);
  EXPECT_FALSE(result.ok());
  EXPECT_THAT(result.err, HasSubstr("lock"));
}

/// qemu-nbd over the image, which it has opened and locked: it listens before that, but greets nobody.
class QemuNbd {
 public:
  QemuNbd(const TempDir& dir, const std::string& image, bool read_only)
      : child_(read_only ? Args{"qemu-nbd", "-r", "-t", "-f", "raw", "-k", dir / "sock", image}
                         : Args{"qemu-nbd", "-t", "-f", "raw", "-k", dir / "sock", image},
               dir / "stderr") {
    wait_for_listener(dir / "sock", child_, dir / "stderr");
    const Client greeted("nbd+unix:///?socket=" + dir / "sock");
  }
  pid_t pid() const { return child_.pid(); }

 private:
  Child child_;
};

TEST_F(ImageLock, WhatQemuWritesIsRefusedAndQemuNamed) {
  NBDCRYPT_REQUIRE_TOOL("qemu-nbd");
  const QemuNbd server(dir_, image_, false);
  EXPECT_EQ(attempt(LockMode::exclusive_write), in_use_by("qemu-nbd", server.pid()));
  EXPECT_EQ(attempt(LockMode::shared_read), in_use_by("qemu-nbd", server.pid()));
}

TEST_F(ImageLock, HolderThatIsNotOursToSeeIsAnotherProcess) {
  NBDCRYPT_REQUIRE_TOOL("qemu-nbd");
  NBDCRYPT_REQUIRE(geteuid() == 0, "root");
  const QemuNbd server(dir_, image_, false);
  const FileDescriptor fd = open();
  ASSERT_EQ(seteuid(65534), 0);
  std::string said;
  try {
    volume::check_image_unlocked(fd.get(), image_, LockMode::exclusive_write);
  } catch (const base::Error& error) { said = error.what(); }
  ASSERT_EQ(seteuid(0), 0);
  EXPECT_EQ(said, image_ + ": in use by another process");
}

TEST_F(ImageLock, WhatQemuReadsMayBeReadToo) {
  NBDCRYPT_REQUIRE_TOOL("qemu-nbd");
  const QemuNbd server(dir_, image_, true);
  EXPECT_EQ(attempt(LockMode::shared_read), "taken");
}

TEST_F(ImageLock, CryptsetupDoesNotWaitForUs) {
  NBDCRYPT_REQUIRE_TOOL("cryptsetup");
  const std::string image = dir_.sparse("luks.img", 20 << 20);
  const Args fast{"--batch-mode", "--pbkdf", "pbkdf2", "--pbkdf-force-iterations", "1000"};
  const std::string key = dir_.file("key", "one"), new_key = dir_.file("new", "two");
  Args format{"cryptsetup", "luksFormat", "--type", "luks2", image, key};
  Args add{"cryptsetup", "luksAddKey", "--key-file", key, image, new_key};
  format.insert(format.end(), fast.begin(), fast.end());
  add.insert(add.end(), fast.begin(), fast.end());
  check(format);
  const FileDescriptor holder = volume::open_image(image, volume::Access::read_write);
  volume::lock_image(holder.get(), image, LockMode::exclusive_write);
  const Result result = run(add, {.timeout_seconds = 60});
  EXPECT_EQ(result.exit_code, 0) << result.err;
}

}  // namespace
}  // namespace nbdcrypt::test
