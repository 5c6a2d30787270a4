// SPDX-License-Identifier: Apache-2.0
//
// When the image fails under the server: the client is told the right errno, the server lives, and the next request is
// right.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <optional>

#include "tests/plugin/faults.h"
#include "tests/support/requires.h"

namespace nbdcrypt::test {
namespace {

using testing::HasSubstr;

class PluginFailure : public testing::Test {
 protected:
  // The errno that the client is told; 0 when the call works.
  template <class Call>
  static int told(Client& client, Call&& call) {
    try {
      call();
      return 0;
    } catch (const std::runtime_error&) { return client.last_errno(); }
  }

  const TempDir dir_;
  const std::string image_ = luks2(dir_, 4 * kMiB, {"--sector-size", "4096"});
  const Args args_{"key-file=" + secret_file(dir_)};
  const Bytes data_ = pattern(kMiB, 1), other_ = pattern(kMiB, 2);
  Bytes read_ = Bytes(kMiB);
};

TEST_F(PluginFailure, FailedReadIsToldAndTheNextOneIsRight) {
  FaultyServer faulty(image_, args_);
  Client client = faulty.connect();
  client.write(0, data_);
  for (const int error : {EIO, ENOMEM, ENXIO, EBADF}) {  // the last two are no errors of the NBD protocol
    for (const int skip : {0, 3}) {
      faulty.fail("pread", error, skip);
      EXPECT_EQ(told(client, [&] { client.read(0, read_); }), error == ENOMEM ? ENOMEM : EIO);
      EXPECT_TRUE(faulty.failed());
      client.read(0, read_);
      EXPECT_TRUE(read_ == data_);
    }
  }
  EXPECT_THAT(faulty.server().errors(), HasSubstr(image_ + ": read of "));
}

TEST_F(PluginFailure, FailedWriteIsToldAndTheNextOneIsRight) {
  FaultyServer faulty(image_, args_);
  Client client = faulty.connect();
  struct {
    int error, told;
  } const cases[] = {{EIO, EIO},     {ENOSPC, ENOSPC}, {EDQUOT, ENOSPC}, {EFBIG, ENOSPC},
                     {EPERM, EPERM}, {EROFS, EPERM},   {ETXTBSY, EIO}};
  for (const auto& [error, expected] : cases) {
    faulty.fail("pwrite", error, 1);
    EXPECT_EQ(told(client, [&] { client.write(0, other_); }), expected) << error;
    EXPECT_TRUE(faulty.failed());
    client.write(0, data_);
    client.read(0, read_);
    EXPECT_TRUE(read_ == data_) << error;
  }
}

// A write to part of a sector reads it first. When that fails nothing may have been written.
TEST_F(PluginFailure, FailedReadBeforeAPartialWriteChangesNothing) {
  FaultyServer faulty(image_, args_);
  Client client = faulty.connect();
  client.write(0, data_);
  faulty.fail("pread", EIO);
  EXPECT_EQ(told(client, [&] { client.write(100, std::span(other_).first(50)); }), EIO);
  EXPECT_TRUE(faulty.failed());
  client.read(0, read_);
  EXPECT_TRUE(read_ == data_);
}

TEST_F(PluginFailure, ShortReadsAndWritesAreCarriedOn) {
  FaultyServer faulty(image_, args_);
  Client client = faulty.connect();
  for (const int skip : {0, 2}) {
    faulty.fail("pwrite", 0, skip);
    client.write(0, data_);
    EXPECT_TRUE(faulty.failed());
    faulty.fail("pread", 0, skip);
    client.read(0, read_);
    EXPECT_TRUE(faulty.failed());
    EXPECT_TRUE(read_ == data_);
  }
}

TEST_F(PluginFailure, FailedZeroAndTrimAreTold) {
  FaultyServer faulty(image_, {args_[0], "allow-discards=true"});
  Client client = faulty.connect();
  faulty.fail("pwrite", ENOSPC);
  EXPECT_EQ(told(client, [&] { client.zero(0, kMiB); }), ENOSPC);
  faulty.fail("fallocate", EIO);
  EXPECT_EQ(told(client, [&] { client.trim(0, kMiB); }), EIO);
  EXPECT_TRUE(faulty.failed());
  EXPECT_EQ(told(client, [&] { client.trim(0, kMiB); }), 0);
}

// Linux reports a failed sync once and may have dropped the pages: nobody may be told later that all is well.
TEST_F(PluginFailure, FailedSyncFailsEveryLaterFlushOnEveryConnection) {
  FaultyServer faulty(image_, args_);
  Client one = faulty.connect(), two = faulty.connect();
  one.write(0, data_);
  EXPECT_EQ(told(two, [&] { two.flush(); }), 0);
  faulty.fail("fdatasync", EIO);
  EXPECT_EQ(told(one, [&] { one.flush(); }), EIO);
  EXPECT_TRUE(faulty.failed());
  Client three = faulty.connect();
  for (Client* client : {&one, &two, &three}) {
    EXPECT_EQ(told(*client, [&] { client->flush(); }), EIO);
    EXPECT_EQ(told(*client, [&] { client->write(0, data_, true); }), EIO);
    EXPECT_EQ(told(*client, [&] { client->write(0, data_); }), 0);
    client->read(0, read_);
    EXPECT_TRUE(read_ == data_);
  }
}

TEST_F(PluginFailure, FailedSyncOfADurableWriteIsLatchedAsWell) {
  FaultyServer faulty(image_, args_);
  Client client = faulty.connect();
  faulty.fail("fdatasync", ENOSPC);
  EXPECT_EQ(told(client, [&] { client.write(0, data_, true); }), ENOSPC);
  EXPECT_EQ(told(client, [&] { client.flush(); }), ENOSPC);
}

TEST_F(PluginFailure, TruncatedImageFailsBehindItsEndAlone) {
  Server server({"file=" + image_, args_[0]});
  Client client = server.connect();
  client.write(0, data_);
  client.write(3 * kMiB, other_);
  std::filesystem::resize_file(image_, kDataOffset + 2 * kMiB);
  EXPECT_EQ(told(client, [&] { client.read(3 * kMiB, read_); }), EIO);
  EXPECT_EQ(told(client, [&] { client.write(3 * kMiB + 100, std::span(data_).first(50)); }), EIO);
  EXPECT_EQ(told(client, [&] { client.read(2 * kMiB - 100, std::span(read_).first(200)); }), EIO);
  client.read(0, read_);
  EXPECT_TRUE(read_ == data_);
  client.write(3 * kMiB, other_);  // the file grows again
  client.read(3 * kMiB, read_);
  EXPECT_TRUE(read_ == other_);
  EXPECT_TRUE(server.alive());
}

// Past the end of the volume nbdkit refuses by itself; libnbd is told to send it all the same.
TEST_F(PluginFailure, RequestsBehindTheEndAreRefused) {
  const Server server({"file=" + image_, args_[0]});
  Client client = server.connect();
  nbd_set_strict_mode(client.get(), 0);
  EXPECT_EQ(told(client, [&] { client.read(4 * kMiB - 512, read_); }), EINVAL);
  EXPECT_EQ(told(client, [&] { client.write(4 * kMiB - 512, data_); }), ENOSPC);
  client.read(3 * kMiB, read_);
}

class SmallFilesystem {
 public:
  SmallFilesystem(const TempDir& dir, const std::string& size) {
    std::filesystem::create_directory(dir / "small");
    if (mount("tmpfs", (dir / "small").c_str(), "tmpfs", 0, ("mode=700,size=" + size).c_str()) == 0)
      path_ = dir / "small";
  }
  ~SmallFilesystem() {
    if (!path_.empty()) umount2(path_.c_str(), MNT_DETACH);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

TEST_F(PluginFailure, FullFilesystemIsToldAndWhatFittedIsKept) {
  const SmallFilesystem small(dir_, "6m");
  NBDCRYPT_REQUIRE(!small.path().empty(), "permission to mount");
  const TempDir full(small.path());
  const std::string image = luks2(full, 8 * kMiB);
  Server server({"file=" + image, args_[0]});
  Client client = server.connect();
  std::uint64_t fitted = 0;
  std::optional<int> error;
  for (; !error && fitted < 8; ++fitted) {
    const int result =
        told(client, [&] { client.write(fitted * kMiB, pattern(kMiB, static_cast<std::uint32_t>(fitted))); });
    if (result != 0) error = result;
  }
  ASSERT_EQ(error, ENOSPC);
  --fitted;
  EXPECT_GT(fitted, 1u);
  for (std::uint64_t at = 0; at < fitted; ++at) {
    client.read(at * kMiB, read_);
    EXPECT_TRUE(read_ == pattern(kMiB, static_cast<std::uint32_t>(at))) << at;
  }
  client.write(0, data_);  // needs no new space
  client.flush();
  client.read(0, read_);
  EXPECT_TRUE(read_ == data_);
  EXPECT_TRUE(server.alive());
}

}  // namespace
}  // namespace nbdcrypt::test
