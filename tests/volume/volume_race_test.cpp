// SPDX-License-Identifier: Apache-2.0
//
// Requests that meet in one sector. The stores here hold a request open until the other one has had its chance, so that
// without the locks these tests fail every time, not now and then.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <utility>

#include "tests/support/temp_dir.h"
#include "tests/volume/stores.h"
#include "tests/volume/volumes.h"
#include "volume/file_store.h"

namespace nbdcrypt::test {
namespace {

using namespace std::chrono_literals;

const VolumeKind kCbc4096{"aes-cbc-essiv:sha256", 4096};

/// A flag that somebody waits for, for a while.
class Event {
 public:
  void set() { set_ = true; }
  bool wait(std::chrono::milliseconds at_most) const {
    const auto end = std::chrono::steady_clock::now() + at_most;
    while (!set_ && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(1ms);
    return set_;
  }

 private:
  std::atomic<bool> set_{false};
};

/// Starts `first` (a read-modify-write of sector 0); once it has read the sector, runs `second` in another thread and
/// gives it 100 ms to be done before `first` writes. Returns what then lies in sector 0.
template <class First, class Second>
Bytes sector_after(First&& first, Second&& second) {
  MemoryStore memory(64 * 1024);
  auto owned = std::make_unique<HookStore>(memory, true);
  HookStore& store = *owned;
  volume::Volume volume = volume_over(std::move(owned), kCbc4096);
  volume.zero(0, volume.size());
  Event second_done;
  std::thread other;
  bool started = false;
  store.after_read = [&] {
    if (std::exchange(started, true)) return;  // the read of `second`
    other = std::thread([&] {
      second(volume);
      second_done.set();
    });
    second_done.wait(100ms);
  };
  first(volume);
  other.join();
  EXPECT_TRUE(started);
  return read(volume, 0, 4096);
}

TEST(VolumeRace, NeighboursInOneSectorKeepBothWrites) {
  Bytes expected(4096, 0);
  std::fill_n(expected.begin() + 100, 100, Byte{1});
  std::fill_n(expected.begin() + 3000, 500, Byte{2});
  EXPECT_EQ(sector_after([](volume::Volume& volume) { volume.write(100, Bytes(100, 1)); },
                         [](volume::Volume& volume) { volume.write(3000, Bytes(500, 2)); }),
            expected);
}

TEST(VolumeRace, WholeSectorIsNotLostToAReadModifyWriteInIt) {
  const Bytes after = sector_after([](volume::Volume& volume) { volume.write(0, Bytes(100, 1)); },
                                   [](volume::Volume& volume) { volume.write(0, Bytes(4096, 2)); });
  EXPECT_EQ(Bytes(after.begin() + 100, after.end()), Bytes(3996, 2));
}

TEST(VolumeRace, ZeroIsNotLostToAReadModifyWriteInItsSector) {
  const Bytes after = sector_after([](volume::Volume& volume) { volume.write(0, Bytes(100, 1)); },
                                   [](volume::Volume& volume) {
                                     volume.write(4096, Bytes(4096, 9));
                                     volume.zero(2000, 6192);
                                   });
  EXPECT_EQ(Bytes(after.begin() + 2000, after.end()), Bytes(2096, 0));
}

TEST(VolumeRace, ReadDoesNotSeeHalfASector) {
  MemoryStore memory(64 * 1024);
  volume::Volume volume = volume_over(std::make_unique<TornStore>(memory), kCbc4096);
  volume.write(0, Bytes(4096, 1));
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    for (Byte value = 0; !stop; ++value) volume.write(0, Bytes(100, value));
  });
  int changed = 0;
  for (int i = 0; i < 300; ++i) changed += read(volume, 100, 3996) != Bytes(3996, 1);
  stop = true;
  writer.join();
  EXPECT_EQ(changed, 0);
}

TEST(VolumeRace, OverlappingWritesDoNotMixWhereTheStoreWouldMixThem) {
  MemoryStore memory(64 * 1024);
  volume::Volume volume = volume_over(std::make_unique<TornStore>(memory), kCbc4096);
  for (int i = 0; i < 50; ++i) {
    std::thread first([&] { volume.write(0, Bytes(4096, 1)); });
    std::thread second([&] { volume.write(0, Bytes(4096, 2)); });
    first.join();
    second.join();
    const Bytes now = read(volume, 0, 4096);
    ASSERT_EQ(now, Bytes(4096, now[0]));
    ASSERT_TRUE(now[0] == 1 || now[0] == 2);
  }
}

/// True when two writes of the same whole sectors are in the store at the same time.
bool whole_writes_meet(bool atomic) {
  MemoryStore memory(64 * 1024);
  auto owned = std::make_unique<HookStore>(memory, atomic);
  HookStore& store = *owned;
  volume::Volume volume = volume_over(std::move(owned), kCbc4096);
  std::atomic<int> inside{0};
  std::atomic<bool> met{false};
  store.before_write = [&] {
    ++inside;
    for (int ms = 0; ms < 100 && !met; ++ms) {
      if (inside == 2) met = true;
      std::this_thread::sleep_for(1ms);
    }
    --inside;
  };
  std::thread first([&] { volume.write(0, Bytes(8192, 1)); });
  std::thread second([&] { volume.write(0, Bytes(8192, 2)); });
  first.join();
  second.join();
  return met;
}

TEST(VolumeRace, WholeWritesExcludeEachOtherOnlyWhereTheyMustNotMix) {
  EXPECT_TRUE(whole_writes_meet(true));
  EXPECT_FALSE(whole_writes_meet(false));
}

/// Writers change the first and the last bytes of the sectors of a file while a reader looks at the bytes between them,
/// which nobody writes. Returns how often the reader saw them changed.
int changes_of_bytes_that_nobody_writes(const std::string& folder) {
  const TempDir dir(folder);
  auto store = std::make_unique<volume::FileStore>(dir.sparse("disk.img", 32 * 1024), volume::Access::read_write);
  volume::Volume volume = volume_over(std::move(store), kCbc4096);
  volume.write(0, Bytes(32 * 1024, 1));
  std::atomic<bool> stop{false};
  std::vector<std::thread> writers;
  for (const std::uint64_t offset : {0, 4090, 8190}) {
    writers.emplace_back([&volume, &stop, offset] {
      for (Byte value = 0; !stop; ++value) volume.write(offset, Bytes(7, value));
    });
  }
  int changed = 0;
  const auto end = std::chrono::steady_clock::now() + 1500ms;
  while (std::chrono::steady_clock::now() < end) {
    changed += read(volume, 7, 4083) != Bytes(4083, 1);
    changed += read(volume, 4097, 4093) != Bytes(4093, 1);
  }
  stop = true;
  for (std::thread& writer : writers) writer.join();
  return changed;
}

TEST(VolumeRace, BytesThatNobodyWritesNeverChangeInTheViewOfThePageCache) {
  const TempDir dir;
  constexpr std::size_t kBytes = 64 * 1024;
  auto store = std::make_unique<volume::FileStore>(dir.sparse("disk.img", kBytes), volume::Access::read_write);
  store->view_page_cache();
  const volume::FileStore& file = *store;
  volume::Volume volume = volume_over(std::move(store), kCbc4096);
  volume.write(0, Bytes(kBytes, 1));
  ASSERT_NE(file.view(0, kBytes), nullptr);
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    for (Byte value = 0; !stop; ++value) volume.write(0, Bytes(7, value));
  });
  int changed = 0;
  const auto end = std::chrono::steady_clock::now() + 1500ms;
  while (std::chrono::steady_clock::now() < end) {
    const Bytes now = read(volume, 0, kBytes);
    changed += !std::all_of(now.begin() + 7, now.end(), [](Byte b) { return b == 1; });
  }
  stop = true;
  writer.join();
  EXPECT_EQ(changed, 0);
}

TEST(VolumeRace, BytesThatNobodyWritesNeverChangeInMemory) {
  EXPECT_EQ(changes_of_bytes_that_nobody_writes("/dev/shm"), 0);
}

TEST(VolumeRace, BytesThatNobodyWritesNeverChangeOnDisk) {
  EXPECT_EQ(changes_of_bytes_that_nobody_writes(NBDCRYPT_DISK_FOLDER), 0);
}

}  // namespace
}  // namespace nbdcrypt::test
