// SPDX-License-Identifier: Apache-2.0
//
// A volume behaves like plain memory: random requests of any offset and length, from one thread and from many.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "tests/support/requires.h"
#include "tests/support/temp_dir.h"
#include "tests/volume/stores.h"
#include "tests/volume/volumes.h"
#include "volume/file_store.h"

namespace nbdcrypt::test {
namespace {

constexpr std::size_t kVolumeBytes = 1 << 20;

struct Request {
  std::uint64_t offset;
  std::size_t bytes;
};

/// Mostly 1 to 5000 bytes, now and then several scratch buffers.
Request random_request(std::mt19937_64& random) {
  const std::size_t bytes = random() % 16 == 0 ? 1 + random() % 400'000 : 1 + random() % 5000;
  return {random() % (kVolumeBytes - bytes + 1), bytes};
}

void expect_to_behave_like_memory(volume::Volume& volume, int requests, unsigned seed) {
  std::mt19937_64 random(seed);
  Bytes model = random_bytes(random, kVolumeBytes);
  volume.write(0, model);
  for (int i = 0; i < requests; ++i) {
    const auto [offset, bytes] = random_request(random);
    const auto at = model.begin() + static_cast<std::ptrdiff_t>(offset), end = at + static_cast<std::ptrdiff_t>(bytes);
    switch (random() % 5) {
      case 0:
        volume.zero(offset, bytes);
        std::fill(at, end, Byte{0});
        break;
      case 1:
      case 2: {
        const Bytes data = random_bytes(random, bytes);
        volume.write(offset, data);
        std::copy(data.begin(), data.end(), at);
        break;
      }
      default:
        ASSERT_EQ(read(volume, offset, bytes), Bytes(at, end)) << "request " << i << ": " << bytes << " at " << offset;
    }
  }
  EXPECT_EQ(read(volume, 0, kVolumeBytes), model);
}

class VolumeModel : public testing::TestWithParam<VolumeKind> {};

TEST_P(VolumeModel, InMemory) {
  volume::Volume volume = volume_over(std::make_unique<MemoryStore>(kVolumeBytes), GetParam());
  expect_to_behave_like_memory(volume, 1500, 1);
}

TEST_P(VolumeModel, InAFile) {
  const TempDir dir;
  auto store =
      std::make_unique<volume::FileStore>(dir.sparse("disk.img", 4096 + kVolumeBytes), volume::Access::read_write);
  volume::Volume volume = volume_over(std::move(store), GetParam(), {}, 4096);
  expect_to_behave_like_memory(volume, 1500, 2);
}

// Large reads go by where the page cache has the ciphertext.
TEST_P(VolumeModel, InAFileSeenInThePageCache) {
  const TempDir dir;
  const std::string path =
      dir.file("disk.img", std::string(4096 + kVolumeBytes, '\x5a'));  // a hole is not in the cache
  auto store = std::make_unique<volume::FileStore>(path, volume::Access::read_write);
  store->view_page_cache();
  ASSERT_NE(store->view(4096, kVolumeBytes), nullptr);
  volume::Volume volume = volume_over(std::move(store), GetParam(), {}, 4096);
  expect_to_behave_like_memory(volume, 1500, 5);
}

// Requests of any alignment, by a store that takes whole blocks at aligned addresses alone.
TEST_P(VolumeModel, InAFilePastThePageCache) {
  const TempDir dir(NBDCRYPT_DISK_FOLDER);
  auto store =
      std::make_unique<volume::FileStore>(dir.sparse("disk.img", 4096 + kVolumeBytes), volume::Access::read_write);
  store->bypass_page_cache();
  NBDCRYPT_REQUIRE(GetParam().sector_bytes % store->alignment() == 0, "a disk of 512-byte blocks");
  EXPECT_GT(store->alignment(), 1u);
  volume::Volume volume = volume_over(std::move(store), GetParam(), {}, 4096);
  expect_to_behave_like_memory(volume, 300, 4);
}

TEST_P(VolumeModel, AcrossSegments) {
  const std::uint32_t sector = GetParam().sector_bytes;
  const std::uint64_t first = 513 * 512, second = 3 * sector, third = (kVolumeBytes - first - second) / 512 * 512;
  auto store = std::make_unique<MemoryStore>(2 * kVolumeBytes);
  volume::Volume volume(
      std::move(store),
      segments({segment({"aes-xts-plain64", 512}, kVolumeBytes, first), segment(GetParam(), 512, second, first),
                segment({"aes-cbc-essiv:sha256", 512}, 20480, third, first + second)}),
      {});
  ASSERT_EQ(volume.size(), kVolumeBytes);
  expect_to_behave_like_memory(volume, 800, 3);
}

constexpr std::size_t kThreads = 4;
constexpr std::size_t kOwnedBytes = 1000;  // odd against every sector size: neighbours share sectors

/// Thread `t` owns every kThreads-th run of kOwnedBytes, and alone writes and reads there; so nobody may ever notice
/// that there are others.
void own_a_share(volume::Volume& volume, std::size_t t, int rounds, std::atomic<int>& wrong) {
  std::mt19937_64 random(t);
  Bytes mine(volume.size(), 0);  // what lies outside my runs is not looked at
  for (int i = 0; i < rounds; ++i) {
    const std::size_t run = (random() % (volume.size() / kOwnedBytes / kThreads)) * kThreads + t;
    const std::size_t skip = random() % kOwnedBytes, bytes = 1 + random() % (kOwnedBytes - skip);
    const std::size_t offset = run * kOwnedBytes + skip;
    const auto at = mine.begin() + static_cast<std::ptrdiff_t>(offset);
    if (random() % 2 == 0) {
      const Bytes data = random_bytes(random, bytes);
      volume.write(offset, data);
      std::copy(data.begin(), data.end(), at);
    } else {
      wrong += read(volume, offset, bytes) != Bytes(at, at + static_cast<std::ptrdiff_t>(bytes));
    }
  }
}

int wrong_reads_of_interleaved_owners(std::unique_ptr<volume::Store> store, const VolumeKind& kind, int rounds) {
  volume::Volume volume = volume_over(std::move(store), kind);
  volume.zero(0, volume.size());
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] { own_a_share(volume, t, rounds, wrong); });
  }
  for (std::thread& thread : threads) thread.join();
  return wrong;
}

TEST_P(VolumeModel, InterleavedOwnersInATornStore) {
  MemoryStore memory(16 * 1024);
  EXPECT_EQ(wrong_reads_of_interleaved_owners(std::make_unique<TornStore>(memory), GetParam(), 300), 0);
}

TEST_P(VolumeModel, InterleavedOwnersInAFile) {
  const TempDir dir;
  auto store = std::make_unique<volume::FileStore>(dir.sparse("disk.img", 16 * 1024), volume::Access::read_write);
  EXPECT_EQ(wrong_reads_of_interleaved_owners(std::move(store), GetParam(), 3000), 0);
}

INSTANTIATE_TEST_SUITE_P(All, VolumeModel, testing::ValuesIn(kVolumeKinds), name_of_kind);

}  // namespace
}  // namespace nbdcrypt::test
