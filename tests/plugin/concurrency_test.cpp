// SPDX-License-Identifier: Apache-2.0
//
// Many connections write pieces of 1 to 5000 bytes at odd offsets, so that most sectors belong to several of them. Each
// byte has one owner, who knows what it holds; bytes without an owner never change, and readers watch them while others
// write. CBC with 4096-byte sectors is the hardest case: a torn read of a sector garbles bytes that nobody wrote.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <random>
#include <thread>

#include "tests/plugin/images.h"
#include "tests/support/server.h"

namespace nbdcrypt::test {
namespace {

constexpr std::size_t kWriters = 8, kReaders = 2, kRegionBytes = 384 * 1024;
constexpr auto kDuration = std::chrono::milliseconds(2500);

struct Piece {
  std::size_t offset, bytes, owner;  // owner kWriters: nobody
};

std::vector<Piece> pieces() {
  std::mt19937 random(1);
  std::vector<Piece> all;
  for (std::size_t at = 0; at < kRegionBytes;) {
    const std::size_t bytes = std::min<std::size_t>(1 + random() % (random() % 4 == 0 ? 5000 : 600), kRegionBytes - at);
    all.push_back({at, bytes, all.size() % (kWriters + 1)});
    at += bytes;
  }
  return all;
}

struct Backing {
  const char* name;
  const char* folder;
  const char* cipher;
};

class PluginConcurrency : public testing::TestWithParam<Backing> {
 protected:
  Args args() const { return {"file=" + image_, "key-file=" + secret_file(dir_)}; }

  // Writes parts of the pieces of `owner` until the end; reads each back, as nobody else may have touched it.
  void write_pieces(const Server& server, std::size_t owner) {
    Client client = server.connect();
    std::mt19937 random(static_cast<std::uint32_t>(100 + owner));
    std::vector<Piece> mine;
    std::copy_if(pieces_.begin(), pieces_.end(), std::back_inserter(mine),
                 [&](const Piece& p) { return p.owner == owner; });
    while (std::chrono::steady_clock::now() < end_) {
      const Piece& piece = mine[random() % mine.size()];
      const std::size_t skip = random() % piece.bytes, bytes = 1 + random() % (piece.bytes - skip);
      const std::span part = std::span(model_).subspan(piece.offset + skip, bytes);
      for (std::uint8_t& byte : part) byte = static_cast<std::uint8_t>(random());
      client.write(piece.offset + skip, part, random() % 64 == 0);
      Bytes back(piece.bytes);
      client.read(piece.offset, back);
      if (!std::equal(back.begin(), back.end(), model_.begin() + static_cast<std::ptrdiff_t>(piece.offset))) ++wrong_;
      ++writes_;
    }
  }

  // Reads ranges that hold bytes of everybody, and looks at those of nobody.
  void watch_the_rest(const Server& server, std::uint32_t seed) {
    Client client = server.connect();
    std::mt19937 random(seed);
    while (std::chrono::steady_clock::now() < end_) {
      const std::size_t from = random() % (kRegionBytes - 20000), bytes = 1 + random() % 20000;
      Bytes range(bytes);
      client.read(from, range);
      for (const Piece& piece : pieces_) {
        if (piece.owner != kWriters) continue;
        const std::size_t begin = std::max(piece.offset, from),
                          end = std::min(piece.offset + piece.bytes, from + bytes);
        for (std::size_t at = begin; at < end; ++at) wrong_ += range[at - from] != original_[at];
      }
      ++reads_;
    }
  }

  void run_clients(const Server& server) {
    end_ = std::chrono::steady_clock::now() + kDuration;
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < kWriters; ++i) threads.emplace_back([&, i] { write_pieces(server, i); });
    for (std::uint32_t i = 0; i < kReaders; ++i) threads.emplace_back([&, i] { watch_the_rest(server, i); });
  }

  Bytes region(const Server& server) {
    Client client = server.connect();
    Bytes bytes(kRegionBytes);
    client.read(0, bytes);
    return bytes;
  }

  const TempDir dir_{GetParam().folder};
  const std::string image_ = luks2(dir_, kMiB, {"--sector-size", "4096", "--cipher", GetParam().cipher});
  const std::vector<Piece> pieces_ = pieces();
  const Bytes original_ = pattern(kRegionBytes, 5);
  Bytes model_ = original_;  // each byte is touched by its owner alone
  std::chrono::steady_clock::time_point end_;
  std::atomic<std::size_t> wrong_{0}, writes_{0}, reads_{0};
};

TEST_P(PluginConcurrency, WritersNeverChangeBytesThatTheyDoNotOwn) {
  {
    Server server(args());
    server.connect().write(0, original_);
    run_clients(server);
    EXPECT_EQ(wrong_, 0u);
    EXPECT_GT(writes_, 100u);
    EXPECT_GT(reads_, 10u);
    EXPECT_TRUE(region(server) == model_);
    EXPECT_EQ(server.stop(), 0);
  }
  const Server again(args());
  EXPECT_TRUE(region(again) == model_) << "what is on disk differs from what was served";
}

INSTANTIATE_TEST_SUITE_P(Images, PluginConcurrency,
                         testing::Values(Backing{"cbc_in_memory", "/dev/shm", "aes-cbc-essiv:sha256"},
                                         Backing{"cbc_on_disk", NBDCRYPT_DISK_FOLDER, "aes-cbc-essiv:sha256"},
                                         Backing{"xts_in_memory", "/dev/shm", "aes-xts-plain64"}),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace nbdcrypt::test
