// SPDX-License-Identifier: Apache-2.0
//
// Ciphertext that is read where the page cache has it: only what is there, and never zeros for what has gone.
#include "volume/page_cache_view.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <random>
#include <thread>

#include "tests/support/temp_dir.h"
#include "tests/volume/volumes.h"
#include "volume/file_store.h"

namespace nbdcrypt::test {
namespace {

using volume::Access;
using volume::FileStore;
using volume::PageCacheView;

constexpr std::size_t kImageBytes = 1 << 20, kLook = 128 * 1024;

class PageCacheViewTest : public testing::Test {
 protected:
  explicit PageCacheViewTest(const std::string& folder = "/dev/shm")
      : dir_(folder),
        data_(random_bytes(random_, kImageBytes)),
        path_(dir_.file("disk.img", std::string(data_.begin(), data_.end()))),
        file_(volume::open_image(path_, Access::read_write)),
        view_(PageCacheView::of(file_.get(), kImageBytes)) {}

  bool shows(std::size_t offset, std::size_t bytes) const {
    const Byte* const seen = view_->look(offset, bytes);
    return seen != nullptr && std::equal(seen, seen + bytes, data_.begin() + static_cast<std::ptrdiff_t>(offset)) &&
           view_->holds(offset, bytes);
  }
  void cut_short(std::uintmax_t bytes) const { std::filesystem::resize_file(path_, bytes); }

  std::mt19937_64 random_{1};
  TempDir dir_;
  Bytes data_;
  std::string path_;
  volume::FileDescriptor file_;
  std::unique_ptr<PageCacheView> view_;
};

TEST_F(PageCacheViewTest, ShowsTheFileAndWhatIsWrittenToIt) {
  ASSERT_TRUE(view_);
  EXPECT_TRUE(shows(0, kImageBytes));
  EXPECT_TRUE(shows(512, kLook));
  EXPECT_TRUE(shows(kImageBytes - kLook, kLook));
  data_[1000] ^= 1;
  ASSERT_EQ(pwrite(file_.get(), &data_[1000], 1, 1000), 1);
  EXPECT_TRUE(shows(0, kLook));
}

TEST_F(PageCacheViewTest, DoesNotLookBehindItsEndOrAtLittle) {
  ASSERT_TRUE(view_);
  EXPECT_EQ(view_->look(kImageBytes - kLook + 1, kLook), nullptr);
  EXPECT_EQ(view_->look(kImageBytes, kLook), nullptr);
  EXPECT_EQ(view_->look(~std::uint64_t{0}, kLook), nullptr);
  EXPECT_EQ(view_->look(0, PageCacheView::kMinLook - 1), nullptr);
}

TEST_F(PageCacheViewTest, OfAHugeOrEmptyOrUnmappableFileThereIsNone) {
  EXPECT_EQ(PageCacheView::of(file_.get(), 0), nullptr);
  EXPECT_EQ(PageCacheView::of(file_.get(), PageCacheView::kMaxBytes + 1), nullptr);
  EXPECT_EQ(PageCacheView::of(-1, kImageBytes), nullptr);
  const volume::FileDescriptor proc(open("/proc/self/status", O_RDONLY | O_CLOEXEC));
  EXPECT_EQ(PageCacheView::of(proc.get(), kImageBytes), nullptr);
}

TEST_F(PageCacheViewTest, MoreThanThereIsRoomForAreNone) {
  std::vector<std::unique_ptr<PageCacheView>> views;
  while (auto view = PageCacheView::of(file_.get(), kImageBytes)) views.push_back(std::move(view));
  EXPECT_GE(views.size(), 2u);
  views.clear();
  EXPECT_NE(PageCacheView::of(file_.get(), kImageBytes), nullptr);
}

TEST_F(PageCacheViewTest, FileThatEndsInTheMiddleOfAPageDoesNotHold) {
  ASSERT_TRUE(view_);
  cut_short(kLook - 100);
  ASSERT_NE(view_->look(0, kLook), nullptr);  // the page is there
  EXPECT_EQ(view_->look(0, kLook)[kLook - 1], 0);
  EXPECT_FALSE(view_->holds(0, kLook));
  EXPECT_TRUE(shows(0, kLook - 4096));
}

TEST_F(PageCacheViewTest, FileThatEndsBeforeThePageIsGivenUpWithoutASignalForAnybody) {
  ASSERT_TRUE(view_);
  const Byte* const seen = view_->look(0, kLook);
  ASSERT_NE(seen, nullptr);
  cut_short(4096);
  EXPECT_EQ(seen[0], data_[0]);
  EXPECT_TRUE(view_->holds(0, 4096));
  EXPECT_EQ(*static_cast<const volatile Byte*>(seen + 5000), 0);
  EXPECT_FALSE(view_->holds(0, 4096));
  cut_short(kImageBytes);
  EXPECT_EQ(view_->look(0, kLook), nullptr);  // for good: its zeros are not the file's
}

// Sanitizers have a handler of their own, which ends with the exit code that their tests run with.
bool died_of_sigbus(int status) {
  return WIFSIGNALED(status) ? WTERMSIG(status) == SIGBUS : WIFEXITED(status) && WEXITSTATUS(status) == 99;
}

TEST_F(PageCacheViewTest, OtherFaultsEndTheProcessAsBefore) {
  ASSERT_TRUE(view_);
  EXPECT_EXIT(
      {
        const Byte* const other =
            static_cast<const Byte*>(mmap(nullptr, kImageBytes, PROT_READ, MAP_SHARED, file_.get(), 0));
        cut_short(0);
        _exit(*static_cast<const volatile Byte*>(other));
      },
      died_of_sigbus, "");
}

// On a disk, where pages can be dropped.
class PageCacheViewOnDisk : public PageCacheViewTest {
 protected:
  PageCacheViewOnDisk() : PageCacheViewTest(NBDCRYPT_DISK_FOLDER) {}
};

TEST_F(PageCacheViewOnDisk, DoesNotLookAtWhatMustBeReadFirst) {
  ASSERT_TRUE(view_);
  ASSERT_EQ(fsync(file_.get()), 0);
  EXPECT_TRUE(shows(0, kImageBytes));
  view_.reset();  // mapped pages are not dropped
  ASSERT_EQ(posix_fadvise(file_.get(), 0, kImageBytes, POSIX_FADV_DONTNEED), 0);
  ASSERT_EQ(posix_fadvise(file_.get(), 0, 0, POSIX_FADV_RANDOM), 0);  // nothing is read ahead
  view_ = PageCacheView::of(file_.get(), kImageBytes);
  ASSERT_TRUE(view_);
  EXPECT_EQ(view_->look(0, kLook), nullptr);
  Bytes block(kLook);
  ASSERT_EQ(pread(file_.get(), block.data(), kLook, 0), static_cast<ssize_t>(kLook));
  EXPECT_TRUE(shows(0, kLook));
  EXPECT_EQ(view_->look(kImageBytes / 2 - kLook, 2 * kLook), nullptr);
}

std::unique_ptr<FileStore> viewed_store(const std::string& path) {
  auto store = std::make_unique<FileStore>(path, Access::read_write);
  store->view_page_cache();
  return store;
}

TEST(ViewedVolume, CutShortIsAnErrorAndWhatIsThereIsReadAsBefore) {
  const TempDir dir;
  const std::string path = dir.sparse("disk.img", kImageBytes);
  volume::Volume volume = volume_over(viewed_store(path), VolumeKind{"aes-cbc-essiv:sha256", 4096});
  std::mt19937_64 random(1);
  const Bytes data = random_bytes(random, kImageBytes);
  volume.write(0, data);
  EXPECT_EQ(read(volume, 0, kImageBytes), data);
  for (const std::uintmax_t left : {700 * 1024 + 100, 600 * 1024}) {
    std::filesystem::resize_file(path, left);
    EXPECT_EQ(errno_of([&] { read(volume, 512 * 1024, 256 * 1024); }), EIO);
    EXPECT_EQ(read(volume, 0, 512 * 1024), Bytes(data.begin(), data.begin() + 512 * 1024));
  }
  EXPECT_EQ(message_of([&] { read(volume, 512 * 1024, 128 * 1024); }),
            path + ": read of 131072 bytes at 524288: the image ends at 614400");
}

// Either there, or an error: whatever the moment in which the file is cut.
TEST(ViewedVolume, CutShortWhileItIsReadIsNeverZeros) {
  const TempDir dir;
  const std::string path = dir.sparse("disk.img", kImageBytes);
  std::mt19937_64 random(1);
  const Bytes data = random_bytes(random, kImageBytes);
  for (int round = 0; round < 30; ++round) {
    volume::Volume volume = volume_over(viewed_store(path), VolumeKind{"aes-xts-plain64", 4096});
    volume.write(0, data);
    std::atomic<int> errors{0}, wrong{0};
    std::vector<std::thread> readers;
    for (int t = 0; t < 3; ++t) {
      readers.emplace_back([&] {
        while (errors == 0) {
          Bytes out;
          if (errno_of([&] { out = read(volume, 0, kImageBytes); }) != -1)
            ++errors;
          else
            wrong += out != data;
        }
      });
    }
    std::filesystem::resize_file(path, 4096 + random() % (kImageBytes - 4096));
    for (std::thread& reader : readers) reader.join();
    EXPECT_EQ(wrong, 0);
    std::filesystem::resize_file(path, kImageBytes);
  }
}

}  // namespace
}  // namespace nbdcrypt::test
