// SPDX-License-Identifier: Apache-2.0
//
// What reaches the image, and when: syncs, zeros, trims and hints, seen in the system calls and in the image itself.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "tests/plugin/faults.h"

namespace nbdcrypt::test {
namespace {

class PluginDurability : public testing::Test {
 protected:
  // Bytes of holes in [begin, end) of the image.
  std::uint64_t hole_bytes(std::uint64_t begin, std::uint64_t end) const {
    const int fd = open(image_.c_str(), O_RDONLY | O_CLOEXEC);
    std::uint64_t holes = 0;
    for (off_t at = static_cast<off_t>(begin); at < static_cast<off_t>(end);) {
      const off_t hole = std::min(lseek(fd, at, SEEK_HOLE), static_cast<off_t>(end));
      off_t data = lseek(fd, hole, SEEK_DATA);
      if (data < 0 || data > static_cast<off_t>(end)) data = static_cast<off_t>(end);
      holes += static_cast<std::uint64_t>(data - hole);
      at = data;
    }
    close(fd);
    return holes;
  }

  const TempDir dir_;
  const std::string image_ = luks2(dir_, 4 * kMiB, {"--sector-size", "4096"});
  const std::string key_ = "key-file=" + secret_file(dir_);
  const Bytes data_ = pattern(kMiB, 1);
};

TEST_F(PluginDurability, FlushAndFuaSyncTheImageAndPlainWritesDoNot) {
  FaultyServer faulty(image_, {key_});
  Client client = faulty.connect();
  faulty.calls();
  client.write(0, data_);
  EXPECT_EQ(faulty.count("fdatasync"), 0u);
  client.flush();
  EXPECT_EQ(faulty.count("fdatasync"), 1u);
  client.write(0, data_, true);
  EXPECT_EQ(faulty.count("fdatasync"), 1u);
  client.write(5, std::span(data_).first(7), true);  // read, patched and written
  EXPECT_EQ(faulty.count("fdatasync"), 1u);
  client.zero(0, 4096, LIBNBD_CMD_FLAG_FUA);
  EXPECT_EQ(faulty.count("fdatasync"), 1u);
}

TEST_F(PluginDurability, DurableWriteSyncsAfterItsLastByte) {
  FaultyServer faulty(image_, {key_});
  Client client = faulty.connect();
  faulty.calls();
  client.write(5, data_, true);
  const auto calls = faulty.calls();
  ASSERT_FALSE(calls.empty());
  EXPECT_EQ(calls.back().name, "fdatasync");
}

TEST_F(PluginDurability, FlushCoversTheWritesOfOtherConnections) {
  FaultyServer faulty(image_, {key_});
  Client writer = faulty.connect(), other = faulty.connect();
  writer.write(0, data_);
  faulty.calls();
  other.flush();
  EXPECT_EQ(faulty.count("fdatasync"), 1u);
}

TEST_F(PluginDurability, ZerosAreWrittenEncryptedAndLeaveNoHole) {
  FaultyServer faulty(image_, {key_, "allow-discards=true"});
  Client client = faulty.connect();
  client.write(0, data_);
  client.zero(100, kMiB + 4096);  // over what was written, and over a hole; allowed to punch one itself
  EXPECT_EQ(hole_bytes(kDataOffset, kDataOffset + kMiB + 4096), 0u);
  EXPECT_EQ(faulty.count("fallocate"), 0u);
  Bytes read(kMiB + 4096);
  client.read(100, read);
  EXPECT_TRUE(read == Bytes(read.size(), 0));
  client.read(0, std::span(read).first(100));
  EXPECT_TRUE(std::equal(read.begin(), read.begin() + 100, data_.begin()));
  const std::string stored = read_file(image_).substr(kDataOffset, kMiB);
  EXPECT_EQ(stored.find(std::string(64, '\0')), std::string::npos) << "zeros on disk are not encrypted";
}

TEST_F(PluginDurability, FastZeroIsRefusedAndChangesNothing) {
  Server server({"file=" + image_, key_});
  {
    Client client = server.connect();
    client.write(0, data_);
    EXPECT_THROW(client.zero(0, 4096, LIBNBD_CMD_FLAG_FAST_ZERO), std::runtime_error);
    EXPECT_EQ(client.last_errno(), ENOTSUP);
    Bytes read(kMiB);
    client.read(0, read);
    EXPECT_TRUE(read == data_);
  }
  EXPECT_EQ(server.stop(), 0);
  EXPECT_EQ(server.errors(), "");
}

// A client that asks for what was not offered is refused; it does not end the server.
TEST_F(PluginDurability, ReadOnlyServerSurvivesRequestsThatItDidNotOffer) {
  const Server server({"file=" + image_, key_, "readonly=true"});
  Client client = server.connect();
  nbd_set_strict_mode(client.get(), 0);
  for (const std::uint32_t flags : {0u, LIBNBD_CMD_FLAG_FAST_ZERO + 0u, LIBNBD_CMD_FLAG_FUA + 0u}) {
    EXPECT_THROW(client.zero(0, 4096, flags), std::runtime_error);
    EXPECT_EQ(client.last_errno(), EPERM);
  }
  EXPECT_EQ(server.connect().size(), 4 * kMiB);
}

TEST_F(PluginDurability, TrimGivesSpaceBackWhereAllowed) {
  FaultyServer faulty(image_, {key_, "allow-discards=true"});
  Client client = faulty.connect();
  const Bytes tail = pattern(kMiB, 2);
  client.write(0, data_);
  client.write(kMiB, tail);
  client.trim(4096 + 1, kMiB - 8192);  // 4097 to the 1st byte of the last sector: both are covered in part and stay
  EXPECT_EQ(hole_bytes(kDataOffset, kDataOffset + 8192), 0u);
  EXPECT_EQ(hole_bytes(kDataOffset + 8192, kDataOffset + kMiB - 4096), kMiB - 8192 - 4096);
  EXPECT_EQ(hole_bytes(kDataOffset + kMiB - 4096, kDataOffset + 2 * kMiB), 0u);
  Bytes read(kMiB);
  client.read(kMiB, read);
  EXPECT_TRUE(read == tail);
  client.read(0, std::span(read).first(8192));
  EXPECT_TRUE(std::equal(read.begin(), read.begin() + 8192, data_.begin()));
  client.read(kMiB - 4096, std::span(read).first(4096));
  EXPECT_TRUE(std::equal(read.begin(), read.begin() + 4096, data_.end() - 4096));
}

TEST_F(PluginDurability, TrimIsRefusedWhereNotAllowed) {
  FaultyServer faulty(image_, {key_});
  Client client = faulty.connect();
  nbd_set_strict_mode(client.get(), 0);
  client.write(0, data_);
  EXPECT_THROW(client.trim(0, kMiB), std::runtime_error);
  EXPECT_EQ(faulty.count("fallocate"), 0u);
  EXPECT_EQ(hole_bytes(kDataOffset, kDataOffset + kMiB), 0u);
}

TEST_F(PluginDurability, CacheIsAHintForTheRightRange) {
  FaultyServer faulty(image_, {key_});
  Client client = faulty.connect();
  faulty.calls();
  ASSERT_EQ(nbd_cache(client.get(), 65536, kMiB, 0), 0) << nbd_get_error();
  const auto calls = faulty.calls();
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_EQ(calls[0].name, "fadvise");
  EXPECT_EQ(calls[0].offset, kDataOffset + kMiB);
  EXPECT_EQ(calls[0].bytes, 65536u);
}

}  // namespace
}  // namespace nbdcrypt::test
