// SPDX-License-Identifier: Apache-2.0
//
// The way of a new header to the store: its order, and what a crash between any two steps leaves.
#include "volume/header_copy.h"

#include <gmock/gmock.h>

#include "tests/volume/luks_fixtures.h"
#include "tests/volume/stores.h"

namespace nbdcrypt::test {
namespace {

using testing::ElementsAre;
using volume::HeaderCopy;
using volume::HeaderExtent;
using volume::Type;

constexpr std::uint64_t kHeaderBytes = kMiB, kImageBytes = 2 * kMiB;

/// Remembers the order of its writes and flushes; after `steps` of them everything is lost.
class CutStore : public MemoryStore {
 public:
  explicit CutStore(const std::string& before, std::size_t steps = SIZE_MAX)
      : MemoryStore(before.size()), steps_(steps) {
    std::copy(before.begin(), before.end(), content.begin());
  }
  void write(std::uint64_t offset, std::span<const Byte> in) override {
    log.push_back(std::to_string(offset) + "+" + std::to_string(in.size()));
    if (log.size() <= steps_) MemoryStore::write(offset, in);
  }
  void flush() override { log.push_back("flush"); }
  std::string text() const { return {content.begin(), content.end()}; }

  std::vector<std::string> log;

 private:
  std::size_t steps_;
};

std::string formatted(const TempDir& dir, Type type, const std::string& passphrase) {
  volume::FormatOptions options{.image = dir.sparse(passphrase, kImageBytes), .type = type, .pbkdf = fast_pbkdf()};
  options.cipher = "aes-cbc-essiv:sha256";
  options.key_size_bits = 128;
  options.offset_sectors = kHeaderBytes / 512;
  volume::format(options, bytes_of(passphrase), {});
  return options.image;
}

HeaderCopy copy_of(const std::string& image) {
  const volume::FileDescriptor fd = volume::open_image(image, volume::Access::read_only);
  HeaderCopy copy(kImageBytes);
  copy.fetch(fd.get(), image, 0, kHeaderBytes);
  return copy;
}

HeaderExtent extent_of(Type type) {
  if (type == Type::luks1)
    return {.copy_bytes = 4096, .copies = 1, .header_bytes = 4096 + 8 * 65536, .cleared_bytes = kHeaderBytes};
  return {.copy_bytes = 16384, .copies = 2, .header_bytes = kHeaderBytes, .cleared_bytes = kHeaderBytes};
}

class NewHeader : public testing::TestWithParam<Type> {};

TEST_P(NewHeader, IsAllThereInTheEnd) {
  TempDir dir;
  const std::string image = formatted(dir, GetParam(), "new");
  CutStore store(std::string(kImageBytes, 'x'));
  write_new_header(store, copy_of(image), extent_of(GetParam()));
  const std::string expected = read_file(image);
  EXPECT_EQ(store.text().substr(0, kHeaderBytes), expected.substr(0, kHeaderBytes));
  EXPECT_EQ(store.text().substr(kHeaderBytes), std::string(kImageBytes - kHeaderBytes, 'x')) << "data was written to";
}

TEST_P(NewHeader, AfterACrashIsNoVolumeOrOneThatOpens) {
  TempDir dir;
  const std::string old = read_file(formatted(dir, GetParam(), "old"));
  const HeaderCopy copy = copy_of(formatted(dir, GetParam(), "new"));
  int opened = 0;
  for (std::size_t steps = 1;; ++steps) {
    CutStore store(old, steps);
    write_new_header(store, copy, extent_of(GetParam()));
    const std::string image = dir.file("crashed", store.text());
    try {
      const volume::Header header = volume::Header::load(image, {}, Type::detect);
      EXPECT_EQ(header.test_passphrase(credential("new"), -1), 0) << steps << " steps";
      ++opened;
    } catch (const base::Error& error) {
      EXPECT_EQ(error.kind(), base::Kind::format) << steps << " steps: " << error.what();
    }
    if (store.log.size() <= steps) break;
  }
  EXPECT_GE(opened, 2) << "the whole header opens, before and after the last flush";
}

INSTANTIATE_TEST_SUITE_P(Versions, NewHeader, testing::Values(Type::luks1, Type::luks2),
                         [](const auto& test) { return test.param == Type::luks1 ? "luks1" : "luks2"; });

TEST(NewHeader, GoesKeyAreasThenSecondCopyThenFirstWithAFlushAfterEach) {
  CutStore store(std::string(256 << 10, 'x'));
  write_new_header(store, HeaderCopy(256 << 10),
                   {.copy_bytes = 16384, .copies = 2, .header_bytes = 65536, .cleared_bytes = 131072});
  EXPECT_THAT(store.log, ElementsAre("0+32768", "32768+32768", "65536+65536", "flush", "16384+16384", "flush",
                                     "0+16384", "flush"));
}

TEST(HeaderCopy, TakesTheRangesItIsToldAndNoMore) {
  TempDir dir;
  std::string content(200000, 'a');
  const std::string path = dir.file("device", content);
  const volume::FileDescriptor fd = volume::open_image(path, volume::Access::read_only);
  HeaderCopy copy(content.size());
  copy.fetch(fd.get(), path, 1000, 100000);
  std::string found(content.size(), '?');
  copy.read(0, {reinterpret_cast<base::Byte*>(found.data()), found.size()});
  EXPECT_EQ(found, std::string(1000, '\0') + std::string(100000, 'a') + std::string(99000, '\0'));
  EXPECT_TRUE(copy.equals(fd.get(), path, 1000, 100000));
  EXPECT_FALSE(copy.equals(fd.get(), path, 999, 1));
  EXPECT_FALSE(copy.equals(fd.get(), path, 100999, 2));
}

TEST(HeaderCopy, CopiesAsFarAsTheDeviceGoes) {
  TempDir dir;
  const std::string path = dir.file("device", "short");
  const volume::FileDescriptor fd = volume::open_image(path, volume::Access::read_only);
  HeaderCopy copy(5);
  copy.fetch(fd.get(), path, 0, kMiB);
  EXPECT_EQ(copy.size(), 5u);
  EXPECT_TRUE(copy.equals(fd.get(), path, 0, kMiB));
}

}  // namespace
}  // namespace nbdcrypt::test
