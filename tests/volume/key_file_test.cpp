// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <thread>

#include "tests/volume/luks_fixtures.h"
#include "tests/volume/standard_input.h"

namespace nbdcrypt::test {
namespace {

using base::Kind;
using testing::HasSubstr;
using testing::StartsWith;
using volume::read_key_file;

constexpr std::uint64_t kMax = 8 * kMiB;

std::string read(const std::string& path, std::uint64_t offset = 0, std::uint64_t limit = 0, bool line = false) {
  return text_of(read_key_file(path, offset, limit, line));
}

/// Standard input that is a pipe with `content`, whose writing end is closed.
class Piped {
 public:
  explicit Piped(const std::string& content) : input_(reading_end(content)) {}

 private:
  static int reading_end(const std::string& content) {
    int ends[2];
    if (pipe(ends) != 0 || ::write(ends[1], content.data(), content.size()) != static_cast<ssize_t>(content.size()))
      throw std::runtime_error("pipe");
    close(ends[1]);
    return ends[0];
  }
  StandardInput input_;
};

TEST(KeyFile, KeepsEveryByte) {
  TempDir dir;
  const std::string content("a\nb\0c\n", 6);
  EXPECT_EQ(read(dir.file("key", content)), content);
}

TEST(KeyFile, HonoursOffsetAndLimit) {
  TempDir dir;
  const std::string path = dir.file("key", "0123456789");
  EXPECT_EQ(read(path, 3), "3456789");
  EXPECT_EQ(read(path, 3, 4), "3456");
  EXPECT_EQ(read(path, 10), "");
  EXPECT_EQ(read(path, 9, 1), "9");
}

TEST(KeyFile, SaysWhenItIsTooShort) {
  TempDir dir;
  const std::string path = dir.file("key", "0123456789");
  const base::Error limit = error_of([&] { read(path, 3, 8); });
  EXPECT_EQ(limit.kind(), Kind::usage);
  EXPECT_EQ(limit.what(), path + ": 7 bytes where 8 were asked for");
  const base::Error offset = error_of([&] { read(path, 11); });
  EXPECT_EQ(offset.kind(), Kind::usage);
  EXPECT_EQ(offset.what(), path + ": ends before offset 11");
}

TEST(KeyFile, MayHaveEightMebibytesAndNoMore) {
  TempDir dir;
  const std::string path = dir.sparse("key", kMax);
  EXPECT_EQ(read_key_file(path).size(), kMax);
  std::filesystem::resize_file(path, kMax + 1);
  const base::Error error = error_of([&] { read_key_file(path); });
  EXPECT_EQ(error.kind(), Kind::usage);
  EXPECT_THAT(error.what(), HasSubstr("longer than 8388608 bytes"));
  EXPECT_EQ(read_key_file(path, 1).size(), kMax);
  EXPECT_EQ(read_key_file(path, 0, kMax + 1).size(), kMax + 1) << "a limit that was asked for is the user's own";
  EXPECT_EQ(error_of([] { read_key_file("/dev/zero"); }).kind(), Kind::usage);
}

TEST(KeyFile, MayBeEmptyWhenItIsARegularFile) {
  TempDir dir;
  EXPECT_EQ(read(dir.file("key", "")), "");
}

TEST(KeyFile, MissingFilesAndFoldersAreDeviceErrors) {
  TempDir dir;
  for (const std::string& path : {dir / "missing", dir.path()}) {
    const base::Error error = error_of([&] { read(path); });
    EXPECT_EQ(error.kind(), Kind::device);
    EXPECT_THAT(error.what(), StartsWith(path + ": "));
  }
}

TEST(KeyFile, IsNotReadFromATerminal) {
  const int terminal = posix_openpt(O_RDWR | O_NOCTTY);
  ASSERT_GE(terminal, 0);
  grantpt(terminal);
  unlockpt(terminal);
  const base::Error error = error_of([&] { read(ptsname(terminal)); });
  EXPECT_EQ(error.kind(), Kind::usage);
  EXPECT_THAT(error.what(), HasSubstr("not read from a terminal"));
  close(terminal);
}

TEST(KeyFile, ReadsAFifoThatDeliversInPieces) {
  TempDir dir;
  const std::string path = dir / "fifo";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  std::jthread writer([&] {
    const int fd = open(path.c_str(), O_WRONLY);
    for (int i = 0; i < 1000; ++i) ASSERT_EQ(::write(fd, "0123456789", 10), 10);
    close(fd);
  });
  const std::string content = read(path, 5);
  EXPECT_EQ(content.size(), 9995u);
  EXPECT_THAT(content, StartsWith("5678901234"));
}

TEST(StandardInputKey, EndsAtTheNewlineAndLeavesTheRest) {
  const Piped input("first\nsecond\n");
  EXPECT_EQ(read("-", 0, 0, true), "first");
  EXPECT_EQ(read("-", 0, 0, true), "second");
  const base::Error error = error_of([] { read("-", 0, 0, true); });
  EXPECT_EQ(error.kind(), Kind::usage);
  EXPECT_STREQ(error.what(), "standard input: nothing to read");
}

TEST(StandardInputKey, MayBeAnEmptyLine) {
  const Piped input("\n");
  EXPECT_EQ(read("-", 0, 0, true), "");
}

TEST(StandardInputKey, NeedsNoNewlineAtTheEnd) {
  const Piped input("first");
  EXPECT_EQ(read("-", 0, 0, true), "first");
}

TEST(StandardInputKey, IsReadWholeWithOffsetAndLimit) {
  const Piped input("0123456789\nabc");
  EXPECT_EQ(read("-", 2, 10), "23456789\na");
}

TEST(StandardInputKey, SaysWhenItEndsBeforeTheOffset) {
  const Piped input("0123456789");
  EXPECT_STREQ(error_of([] { read("-", 11); }).what(), "standard input: ends before offset 11");
}

}  // namespace
}  // namespace nbdcrypt::test
