// SPDX-License-Identifier: Apache-2.0
//
// What a volume promises for one request: where the ciphertext goes, what it refuses, when it flushes.
#include "volume/volume.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <random>

#include "tests/volume/stores.h"
#include "tests/volume/volumes.h"

namespace nbdcrypt::test {
namespace {

constexpr std::uint64_t kStoreOffset = 8192;

Bytes encrypted(const VolumeKind& kind, std::uint64_t first_sector, const Bytes& plaintext) {
  Bytes out(plaintext.size());
  cipher_of(segment(kind, 0, 0))->encrypt(first_sector, plaintext, out.data());
  return out;
}

class VolumeOfKind : public testing::TestWithParam<VolumeKind> {
 protected:
  volume::Volume open(volume::Volume::Options options = {}) {
    return volume_over(std::make_unique<StoreWrapper>(store_), GetParam(), options, kStoreOffset);
  }
  Bytes stored(std::uint64_t offset, std::size_t bytes) const {
    const auto from = store_.content.begin() + static_cast<std::ptrdiff_t>(kStoreOffset + offset);
    return Bytes(from, from + static_cast<std::ptrdiff_t>(bytes));
  }

  std::mt19937_64 random_{7};
  MemoryStore store_{kStoreOffset + 512 * 1024, 0x5a};
};

TEST_P(VolumeOfKind, PutsTheCiphertextOfEachSectorWhereTheSegmentSays) {
  volume::Volume volume = open();
  const std::uint32_t sector = GetParam().sector_bytes;
  const Bytes data = random_bytes(random_, 300 * 1024);  // more than two scratch buffers
  volume.write(3 * sector, data);
  EXPECT_EQ(stored(3 * sector, data.size()), encrypted(GetParam(), 3, data));
  EXPECT_EQ(stored(0, 3 * sector), Bytes(3 * sector, 0x5a));
  EXPECT_EQ(Bytes(store_.content.begin(), store_.content.begin() + kStoreOffset), Bytes(kStoreOffset, 0x5a));
  EXPECT_EQ(read(volume, 3 * sector, data.size()), data);
}

TEST_P(VolumeOfKind, UnalignedWriteKeepsNeighbouringBytes) {
  volume::Volume volume = open();
  Bytes expected = random_bytes(random_, 64 * 1024);
  volume.write(0, expected);
  for (const auto [offset, bytes] : {Range{5, 1}, {4095, 2}, {100, 9000}, {8192, 100}, {12000, 288}, {20000, 20000}}) {
    const Bytes data = random_bytes(random_, bytes);
    volume.write(offset, data);
    std::copy(data.begin(), data.end(), expected.begin() + static_cast<std::ptrdiff_t>(offset));
    EXPECT_EQ(read(volume, 0, expected.size()), expected) << offset << "+" << bytes;
  }
}

TEST_P(VolumeOfKind, ZeroWritesEncryptedZeros) {
  volume::Volume volume = open();
  Bytes expected = random_bytes(random_, 400 * 1024);
  volume.write(0, expected);
  volume.zero(1000, 350'000);
  std::fill_n(expected.begin() + 1000, 350'000, Byte{0});
  EXPECT_EQ(read(volume, 0, expected.size()), expected);
  EXPECT_EQ(stored(0, expected.size()), encrypted(GetParam(), 0, expected));
  EXPECT_TRUE(store_.trims.empty());
}

TEST_P(VolumeOfKind, TrimGivesBackWholeSectorsInsideTheRange) {
  volume::Volume volume = open({.allow_discards = true});
  const std::uint32_t sector = GetParam().sector_bytes;
  volume.trim(sector - 1, 3 * sector);
  volume.trim(0, 2 * sector);
  volume.trim(1, 2 * sector - 2);  // no whole sector
  volume.trim(0, 0);
  EXPECT_EQ(store_.trims, (std::vector<Range>{{kStoreOffset + sector, 2 * sector}, {kStoreOffset, 2 * sector}}));
}

TEST_P(VolumeOfKind, ReadAndWriteNothing) {
  volume::Volume volume = open();
  const Bytes before = store_.content;
  volume.read(volume.size(), {});
  volume.write(17, {});
  volume.zero(volume.size(), 0);
  EXPECT_EQ(store_.content, before);
}

INSTANTIATE_TEST_SUITE_P(All, VolumeOfKind, testing::ValuesIn(kVolumeKinds), name_of_kind);

class VolumeTest : public testing::Test {
 protected:
  volume::Volume open(volume::Volume::Options options = {}) {
    return volume_over(std::make_unique<StoreWrapper>(store_), kVolumeKinds[0], options);
  }
  MemoryStore store_{64 * 1024, 0x5a};
};

TEST_F(VolumeTest, TrimDoesNothingWhereDiscardsAreNotAllowed) {
  volume::Volume volume = open();
  volume.trim(0, 64 * 1024, true);
  EXPECT_TRUE(store_.trims.empty());
  EXPECT_FALSE(volume.allow_discards());
}

TEST_F(VolumeTest, DurableRequestsFlushOnceAndOthersNever) {
  volume::Volume volume = open({.allow_discards = true});
  volume.write(1, Bytes(5000));
  volume.zero(1, 5000);
  volume.trim(0, 4096);
  EXPECT_EQ(store_.flushes, 0);
  volume.write(1, Bytes(5000), true);
  EXPECT_EQ(store_.flushes, 1);
  volume.zero(1, 5000, true);
  EXPECT_EQ(store_.flushes, 2);
  volume.trim(0, 4096, true);
  EXPECT_EQ(store_.flushes, 3);
  volume.flush();
  EXPECT_EQ(store_.flushes, 4);
}

TEST_F(VolumeTest, ReadOnlyVolumeIsReadAndFlushedOnly) {
  volume::Volume volume = open({.read_only = true, .allow_discards = true});
  EXPECT_EQ(errno_of([&] { volume.write(0, Bytes(512)); }), EROFS);
  EXPECT_EQ(errno_of([&] { volume.zero(0, 512); }), EROFS);
  EXPECT_EQ(errno_of([&] { volume.trim(0, 512); }), EROFS);
  EXPECT_EQ(message_of([&] { volume.write(0, Bytes(1)); }), "memory: the volume is read-only");
  EXPECT_EQ(store_.content, Bytes(64 * 1024, 0x5a));
  EXPECT_TRUE(store_.trims.empty());
  EXPECT_NO_THROW(volume.flush());
  EXPECT_NO_THROW(read(volume, 0, 5000));
}

TEST_F(VolumeTest, RefusesWhatLiesOutside) {
  volume::Volume volume = open({.allow_discards = true});
  Bytes two(2);
  for (const std::uint64_t offset : {std::uint64_t{64 * 1024 - 1}, std::uint64_t{64 * 1024 + 1}, UINT64_MAX}) {
    EXPECT_EQ(errno_of([&] { volume.read(offset, two); }), EINVAL);
    EXPECT_EQ(errno_of([&] { volume.trim(offset, 2); }), EINVAL);
    EXPECT_EQ(errno_of([&] { volume.prefetch(offset, 2); }), EINVAL);
    EXPECT_EQ(errno_of([&] { volume.write(offset, two); }), ENOSPC);
    EXPECT_EQ(errno_of([&] { volume.zero(offset, 2); }), ENOSPC);
  }
  EXPECT_EQ(errno_of([&] { volume.zero(1, UINT64_MAX); }), ENOSPC);
  EXPECT_EQ(store_.content, Bytes(64 * 1024, 0x5a));
  EXPECT_EQ(message_of([&] { volume.read(65535, two); }),
            "memory: read of 2 bytes at 65535: beyond the end of the volume, 65536 bytes");
}

TEST_F(VolumeTest, PrefetchNamesTheCiphertext) {
  volume::Volume volume = volume_over(std::make_unique<StoreWrapper>(store_), kVolumeKinds[0], {}, 4096);
  volume.prefetch(1000, 2000);
  EXPECT_EQ(store_.prefetches, (std::vector<Range>{{5096, 2000}}));
}

/// What the constructor says about segments over a store of 64 KiB.
std::string verdict(const std::vector<volume::Segment>& all) {
  return message_of([&] { volume::Volume(std::make_unique<MemoryStore>(64 * 1024), segments(all), {}); });
}

TEST(VolumeSegments, MustFollowEachOtherAndLieInTheStore) {
  const VolumeKind small{"aes-xts-plain64", 512}, large{"aes-xts-plain64", 4096};
  EXPECT_EQ(verdict({segment(small, 0, 512), segment(large, 4096, 61440, 512)}), "");
  EXPECT_EQ(verdict({}), "memory: no segments");
  EXPECT_EQ(verdict({segment(small, 0, 512, 512)}), "memory: segment 0: begins at 512, expected 0");
  EXPECT_EQ(verdict({segment(small, 0, 512), segment(small, 512, 512, 1024)}),
            "memory: segment 1: begins at 1024, expected 512");
  EXPECT_EQ(verdict({segment(large, 512, 65536)}),
            "memory: segment 0: 65536 bytes at 512 reach beyond the image's 65536");
  EXPECT_EQ(verdict({segment(large, UINT64_MAX - 4095, 8192)}),
            "memory: segment 0: 8192 bytes at 18446744073709547520 reach beyond the image's 65536");
  EXPECT_EQ(verdict({segment(large, 0, 4608)}),
            "memory: segment 0: 4608 bytes are not a whole number of 4096-byte sectors");
}

TEST(VolumeSegments, CipherMustHaveTheSegmentsSectors) {
  std::vector<volume::CipherSegment> mixed;
  mixed.push_back({segment(kVolumeKinds[0], 0, 4096), cipher_of(segment(kVolumeKinds[1], 0, 4096))});
  EXPECT_EQ(message_of([&] { volume::Volume(std::make_unique<MemoryStore>(64 * 1024), std::move(mixed), {}); }),
            "memory: segment 0: its cipher has sectors of another size");
}

TEST(VolumeSegments, RequestsThatCrossThemAreSplit) {
  MemoryStore store(64 * 1024);
  const std::vector<volume::Segment> all{segment({"aes-xts-plain64", 512}, 32768, 1536),
                                         segment({"aes-cbc-essiv:sha256", 4096}, 512, 8192, 1536),
                                         segment({"aes-xts-plain64", 1024}, 16384, 4096, 9728)};
  volume::Volume volume(std::make_unique<StoreWrapper>(store), segments(all), {});
  EXPECT_EQ(volume.size(), 13824u);
  EXPECT_EQ(volume.sector_bytes(), 4096u);
  std::mt19937_64 random(3);
  const Bytes data = random_bytes(random, 13824);
  volume.write(0, data);
  EXPECT_EQ(read(volume, 0, 13824), data);
  for (const volume::Segment& of : all) {
    Bytes plain(store.content.begin() + static_cast<std::ptrdiff_t>(of.store_offset),
                store.content.begin() + static_cast<std::ptrdiff_t>(of.store_offset + of.bytes));
    cipher_of(of)->decrypt(0, plain, plain.data());
    const auto expected = data.begin() + static_cast<std::ptrdiff_t>(of.volume_offset);
    EXPECT_EQ(plain, Bytes(expected, expected + static_cast<std::ptrdiff_t>(of.bytes)));
  }
}

class StoreOfBlocks : public MemoryStore {
 public:
  using MemoryStore::MemoryStore;
  std::uint32_t alignment() const noexcept override { return 4096; }
};

TEST(VolumeOverBlocks, SectorsAndTheirPlaceMustBeWholeBlocks) {
  const auto message = [](const VolumeKind& kind, std::uint64_t at) -> std::string {
    try {
      volume_over(std::make_unique<StoreOfBlocks>(at + 64 * 1024), kind, {}, at);
    } catch (const base::Error& error) {
      EXPECT_EQ(error.kind(), base::Kind::unsupported);
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(message({"aes-xts-plain64", 4096}, 8192), "");
  EXPECT_THAT(
      message({"aes-xts-plain64", 512}, 8192),
      testing::HasSubstr("direct: needs whole blocks of 4096 bytes, but the data begins at 8192 and has sectors "
                         "of 512"));
  EXPECT_THAT(message({"aes-xts-plain64", 4096}, 512), testing::HasSubstr("the data begins at 512 and"));
}

}  // namespace
}  // namespace nbdcrypt::test
