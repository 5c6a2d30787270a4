// SPDX-License-Identifier: Apache-2.0
//
// open, status and close with a real nbdkit and nbdfuse on images by cryptsetup.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "tests/cli/session.h"
#include "tests/support/requires.h"
#include "tests/support/server.h"

namespace nbdcrypt::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

constexpr int kWrong = 1, kPassphraseCode = 2, kMissing = 4, kBusy = 5;
using Bytes = std::vector<std::uint8_t>;

Bytes pattern(std::size_t bytes, unsigned seed) {
  Bytes data(bytes);
  for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<std::uint8_t>((i * 2654435761u + seed * 40503u) >> 7);
  return data;
}

Bytes read_at(const std::string& path, off_t offset, std::size_t bytes) {
  Bytes data(bytes);
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0 || pread(fd, data.data(), bytes, offset) != static_cast<ssize_t>(bytes)) data.clear();
  close(fd);
  return data;
}

bool write_at(const std::string& path, off_t offset, const Bytes& data) {
  const int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  const bool written = fd >= 0 && pwrite(fd, data.data(), data.size(), offset) == static_cast<ssize_t>(data.size());
  close(fd);
  return written;
}

class Open : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* tool : {"nbdkit", "cryptsetup"}) NBDCRYPT_REQUIRE_TOOL(tool);
  }
  static bool fuse() {
    return have_tool("nbdfuse") && have_tool("fusermount3") && access("/dev/fuse", R_OK | W_OK) == 0;
  }

  void expect_nothing_left() {
    EXPECT_TRUE(eventually([this] { return session_.leftovers().empty(); })) << session_.leftovers();
  }

  Session session_;
};

#define NBDCRYPT_REQUIRE_FUSE() NBDCRYPT_REQUIRE(fuse(), "/dev/fuse, nbdfuse, fusermount3")

TEST_F(Open, WhatIsWrittenByOneWayIsReadByTheOtherAndAfterReopening) {
  NBDCRYPT_REQUIRE_FUSE();
  const std::string image = session_.luks_image();
  const Result opened = session_.with_passphrase({"open", image, "vol"});
  ASSERT_EQ(opened.exit_code, 0) << opened.err;
  EXPECT_EQ(opened.out, "uri: " + session_.uri("vol") + "\npath: " + session_.in("vol", "dev") + "\n");
  const Bytes by_uri = pattern(10000, 1), by_path = pattern(5000, 2);
  {
    Client client(session_.uri("vol"));
    EXPECT_EQ(client.size(), 16u << 20);
    client.write(4096 + 7, by_uri);
    EXPECT_EQ(read_at(session_.in("vol", "dev"), 4096 + 7, by_uri.size()), by_uri);
    ASSERT_TRUE(write_at(session_.in("vol", "dev"), 1 << 20, by_path));
    Bytes seen(by_path.size());
    client.read(1 << 20, seen);
    EXPECT_EQ(seen, by_path);
  }
  const Result closed = session_.nbdcrypt({"close", "vol"});
  EXPECT_EQ(closed.exit_code, 0) << closed.err;
  expect_nothing_left();

  ASSERT_EQ(session_.with_passphrase({"luksOpen", image, "again"}).exit_code, 0);
  EXPECT_EQ(read_at(session_.in("again", "dev"), 4096 + 7, by_uri.size()), by_uri);
  EXPECT_EQ(read_at(session_.in("again", "dev"), 1 << 20, by_path.size()), by_path);
  EXPECT_EQ(session_.nbdcrypt({"luksClose", "again"}).exit_code, 0);
  expect_nothing_left();
}

TEST_F(Open, StatusSaysWhatIsOpen) {
  const std::string image = session_.luks_image();
  ASSERT_EQ(session_.with_passphrase({"open", "--attach", "none", "--allow-discards", image, "vol"}).exit_code, 0);
  const Result status = session_.nbdcrypt({"status", "vol"});
  EXPECT_EQ(status.exit_code, 0) << status.err;
  for (const std::string& line :
       {std::string("vol is active.\n"), std::string("  type:        LUKS2\n"),
        std::string("  cipher:      aes-xts-plain64\n"), std::string("  keysize:     512 bits\n"),
        std::string("  key slot:    0\n"), "  device:      " + image + "\n",
        std::string("  offset:      32768 sectors\n"), std::string("  size:        32768 sectors\n"),
        std::string("  mode:        read/write\n"), std::string("  flags:       discards\n"),
        "  uri:         " + session_.uri("vol") + "\n",
        "  server:      process " + std::to_string(session_.server("vol")) + "\n"}) {
    EXPECT_THAT(status.out, HasSubstr(line));
  }
  EXPECT_THAT(status.out, Not(HasSubstr("path:")));
  const Result json = session_.nbdcrypt({"status", "--json"});
  EXPECT_THAT(json.out, HasSubstr("\"name\": \"vol\""));
  EXPECT_THAT(json.out, HasSubstr("\"attachment\": \"none\""));
  EXPECT_EQ(session_.nbdcrypt({"close", "vol"}).exit_code, 0);
  EXPECT_EQ(session_.nbdcrypt({"status", "--json"}).out, "[]\n");
  expect_nothing_left();
}

TEST_F(Open, NamesWithBlanksAndSignsWork) {
  NBDCRYPT_REQUIRE_FUSE();
  const std::string image = session_.luks_image("a disk, 50% & more.img");
  const std::string name = "my disk #1 50% & more?";
  const Result opened = session_.with_passphrase({"open", image, name});
  ASSERT_EQ(opened.exit_code, 0) << opened.err;
  const std::string uri = opened.out.substr(5, opened.out.find('\n') - 5);
  EXPECT_EQ(Client(uri).size(), 16u << 20) << uri;
  EXPECT_EQ(fs::file_size(session_.in(name, "dev")), 16u << 20);
  EXPECT_EQ(session_.nbdcrypt({"close", name}).exit_code, 0);
  expect_nothing_left();
}

TEST_F(Open, PlainVolumesByBothNamesAndByCreate) {
  const std::string image = (session_ / "plain.img");
  ASSERT_EQ(run({"truncate", "-s", "4M", image}).exit_code, 0);
  const Args how = {"--cipher", "aes-xts-plain64", "--key-size", "256", "--hash", "sha256", "--attach", "none"};
  const Bytes data = pattern(4096, 3);
  ASSERT_EQ(session_.with_passphrase(Args{"plainOpen", image, "one"} + how).exit_code, 0);
  Client(session_.uri("one")).write(512, data, true);
  EXPECT_THAT(session_.nbdcrypt({"status", "one"}).out, HasSubstr("PLAIN"));
  EXPECT_EQ(session_.nbdcrypt({"plainClose", "one"}).exit_code, 0);

  const Result created = session_.with_passphrase(Args{"create", "two", image} + how);
  ASSERT_EQ(created.exit_code, 0) << created.err;
  Bytes seen(data.size());
  Client(session_.uri("two")).read(512, seen);
  EXPECT_EQ(seen, data);
  EXPECT_EQ(session_.nbdcrypt({"remove", "two"}).exit_code, 0);

  const Result slot = session_.with_passphrase(Args{"open", "--type", "plain", "--skip", "1", image, "three"} + how);
  ASSERT_EQ(slot.exit_code, 0) << slot.err;
  Client(session_.uri("three")).read(512, seen);
  EXPECT_NE(seen, data) << "another first IV must give another plaintext";
  EXPECT_EQ(session_.nbdcrypt({"close", "three"}).exit_code, 0);
  expect_nothing_left();
}

TEST_F(Open, DetachedHeaderAndRelativePathsWork) {
  const std::string image = session_ / "data.img", header = session_ / "data.hdr";
  ASSERT_EQ(run({"truncate", "-s", "4M", image}).exit_code, 0);
  check(Args{"cryptsetup", "luksFormat", "-q", "--header", header} + kFast + Args{image, session_.key_file()});
  const Result opened = run(
      {NBDCRYPT_PROGRAM, "open", "--header", "data.hdr", "--key-file", "key", "--attach", "none", "data.img", "vol"},
      {.environment = session_.environment(), .directory = session_.dir()});
  ASSERT_EQ(opened.exit_code, 0) << opened.err;
  EXPECT_EQ(Client(session_.uri("vol")).size(), 4u << 20);
  EXPECT_THAT(session_.nbdcrypt({"status", "vol"}).out, HasSubstr(header));
  EXPECT_EQ(session_.nbdcrypt({"close", "vol"}).exit_code, 0);
}

TEST_F(Open, ReadOnlyRefusesWritesByEveryWay) {
  NBDCRYPT_REQUIRE_FUSE();
  const std::string image = session_.luks_image();
  ASSERT_EQ(session_.with_passphrase({"open", "--readonly", image, "vol"}).exit_code, 0);
  {
    Client client(session_.uri("vol"));
    EXPECT_EQ(nbd_is_read_only(client.get()), 1);
  }
  EXPECT_FALSE(write_at(session_.in("vol", "dev"), 0, pattern(512, 1)));
  EXPECT_THAT(session_.nbdcrypt({"status", "vol"}).out, HasSubstr("mode:        readonly"));
  EXPECT_EQ(session_.nbdcrypt({"close", "vol"}).exit_code, 0);
  expect_nothing_left();
}

TEST_F(Open, SecondOpenOfAnImageNamesTheHolder) {
  const std::string image = session_.luks_image();
  ASSERT_EQ(session_.with_passphrase({"open", "--attach", "none", image, "first"}).exit_code, 0);
  fs::create_symlink(image, session_ / "alias.img");
  for (const std::string& path : {image, session_ / "alias.img"}) {
    const Result second = session_.with_passphrase({"open", path, "second"});
    EXPECT_EQ(second.exit_code, kBusy);
    EXPECT_THAT(second.err, HasSubstr("already open as first"));
  }
  EXPECT_EQ(session_.nbdcrypt({"close", "first"}).exit_code, 0);
  expect_nothing_left();
}

TEST_F(Open, NameInUseIsRefused) {
  ASSERT_EQ(session_.with_passphrase({"open", "--attach", "none", session_.luks_image("a.img", 17), "vol"}).exit_code,
            0);
  const Result second = session_.with_passphrase({"open", session_.luks_image("b.img", 17), "vol"});
  EXPECT_EQ(second.exit_code, kBusy);
  EXPECT_THAT(second.err, HasSubstr("vol: already open"));
  EXPECT_EQ(session_.nbdcrypt({"close", "vol"}).exit_code, 0);
}

TEST_F(Open, ImageServedByAnotherProgramIsBusy) {
  const std::string image = session_.luks_image();
  {
    const Server server({"file=" + image, "key-file=" + session_.key_file()});
    const Result result = session_.with_passphrase({"open", image, "vol"});
    EXPECT_EQ(result.exit_code, kBusy);
    EXPECT_THAT(result.err, HasSubstr("in use by"));
    EXPECT_THAT(result.err, HasSubstr(std::to_string(server.pid())));
  }
  expect_nothing_left();
}

TEST_F(Open, DamagedEntryDoesNotHideTheOthers) {
  ASSERT_EQ(session_.with_passphrase({"open", "--attach", "none", session_.luks_image(), "vol"}).exit_code, 0);
  const std::string damaged = session_.runtime() + "/damaged";
  fs::create_directory(damaged);
  fs::permissions(damaged, fs::perms(0700));
  std::ofstream(damaged + "/state.json") << "{}";
  fs::permissions(damaged + "/state.json", fs::perms(0600));
  const Result status = session_.nbdcrypt({"status"});
  EXPECT_EQ(status.exit_code, 0);
  EXPECT_THAT(status.out, HasSubstr("vol is active."));
  EXPECT_THAT(status.err, HasSubstr("damaged/state.json: not a state of ours"));
  EXPECT_EQ(session_.nbdcrypt({"close", "vol"}).exit_code, 0);
  EXPECT_EQ(session_.nbdcrypt({"close", "damaged"}).exit_code, kMissing);
  expect_nothing_left();
}

TEST_F(Open, WrongPassphraseAndMissingImageLeaveNothing) {
  const std::string image = session_.luks_image();
  EXPECT_EQ(session_.nbdcrypt({"open", image, "vol"}, "wrong").exit_code, kPassphraseCode);
  EXPECT_EQ(session_.with_passphrase({"open", session_ / "missing.img", "vol"}).exit_code, kMissing);
  EXPECT_EQ(session_.with_passphrase({"open", image}).exit_code, kWrong);
  EXPECT_EQ(session_.with_passphrase({"open", "--attach", "nonsense", image, "vol"}).exit_code, kWrong);
  expect_nothing_left();
}

TEST_F(Open, TestPassphraseOpensNothing) {
  const std::string image = session_.luks_image();
  EXPECT_EQ(session_.with_passphrase({"open", "--test-passphrase", image}).exit_code, 0);
  EXPECT_EQ(session_.nbdcrypt({"open", "--test-passphrase", image}, "wrong").exit_code, kPassphraseCode);
  EXPECT_EQ(session_.with_passphrase({"open", "--test-passphrase", image, "vol"}).exit_code, kWrong);
  expect_nothing_left();
}

TEST_F(Open, CloseRefusesWhileTheFileIsOpen) {
  NBDCRYPT_REQUIRE_FUSE();
  ASSERT_EQ(session_.with_passphrase({"open", session_.luks_image(), "vol"}).exit_code, 0);
  const int fd = open(session_.in("vol", "dev").c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_GE(fd, 0);
  const Result refused = session_.nbdcrypt({"close", "vol"});
  EXPECT_EQ(refused.exit_code, kBusy);
  EXPECT_THAT(refused.err, HasSubstr("in use"));
  EXPECT_EQ(Client(session_.uri("vol")).size(), 16u << 20) << "it must still be served";
  close(fd);
  EXPECT_EQ(session_.nbdcrypt({"close", "vol"}).exit_code, 0);
  expect_nothing_left();
}

TEST_F(Open, CloseRefusesWhileAClientIsConnected) {
  ASSERT_EQ(session_.with_passphrase({"open", "--attach", "none", session_.luks_image(), "vol"}).exit_code, 0);
  {
    const Client client(session_.uri("vol"));
    const Result refused = session_.nbdcrypt({"close", "vol"});
    EXPECT_EQ(refused.exit_code, kBusy);
    EXPECT_THAT(refused.err, HasSubstr("client"));
  }
  EXPECT_EQ(session_.nbdcrypt({"close", "vol"}).exit_code, 0);
  expect_nothing_left();
}

TEST_F(Open, CloseRefusesWhileAClientIsConnectedBesideTheFile) {
  NBDCRYPT_REQUIRE_FUSE();
  ASSERT_EQ(session_.with_passphrase({"open", session_.luks_image(), "vol"}).exit_code, 0);
  {
    const Client client(session_.uri("vol"));
    EXPECT_EQ(session_.nbdcrypt({"close", "vol"}).exit_code, kBusy);
    EXPECT_EQ(read_at(session_.in("vol", "dev"), 0, 512).size(), 512u) << "it must still be attached";
  }
  EXPECT_EQ(session_.nbdcrypt({"close", "vol"}).exit_code, 0);
  expect_nothing_left();
}

TEST_F(Open, CloseLetsGoOfTheImage) {
  const std::string image = session_.luks_image();
  for (int round = 0; round < 3; ++round) {
    ASSERT_EQ(session_.with_passphrase({"open", "--attach", "none", image, "vol"}).exit_code, 0) << round;
    ASSERT_EQ(session_.nbdcrypt({"close", "vol"}).exit_code, 0) << round;
  }
}

TEST_F(Open, StatusCleansUpAfterAServerThatWasKilled) {
  NBDCRYPT_REQUIRE_FUSE();
  const std::string image = session_.luks_image();
  ASSERT_EQ(session_.with_passphrase({"open", image, "vol"}).exit_code, 0);
  session_.kill_server("vol");
  const Result status = session_.nbdcrypt({"status", "vol"});
  EXPECT_EQ(status.exit_code, kMissing);
  EXPECT_EQ(status.out, "vol is inactive.\n");
  EXPECT_THAT(status.err, HasSubstr("vol: its server has ended; cleaned up"));
  expect_nothing_left();
}

TEST_F(Open, OpenAndCloseCleanUpAfterAServerThatWasKilled) {
  NBDCRYPT_REQUIRE_FUSE();
  const std::string image = session_.luks_image();
  ASSERT_EQ(session_.with_passphrase({"open", image, "vol"}).exit_code, 0);
  session_.kill_server("vol");
  const Result again = session_.with_passphrase({"open", image, "vol"});
  ASSERT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(read_at(session_.in("vol", "dev"), 0, 512).size(), 512u);
  session_.kill_server("vol");
  const Result closed = session_.nbdcrypt({"close", "vol"});
  EXPECT_EQ(closed.exit_code, 0);
  EXPECT_THAT(closed.err, HasSubstr("its server has ended"));
  expect_nothing_left();
}

TEST_F(Open, FileWhoseReaderHangsOnIsStillCleanedUp) {
  NBDCRYPT_REQUIRE_FUSE();
  ASSERT_EQ(session_.with_passphrase({"open", session_.luks_image(), "vol"}).exit_code, 0);
  const int fd = open(session_.in("vol", "dev").c_str(), O_RDONLY | O_CLOEXEC);
  session_.kill_server("vol");
  EXPECT_EQ(session_.nbdcrypt({"close", "vol"}).exit_code, 0);
  close(fd);
  expect_nothing_left();
}

TEST_F(Open, ServerThatFailsIsOneLineAndLeavesNothing) {
  session_.set("NBDKIT", session_.script("failing", "echo 'nbdkit: error: no luck today' >&2; exit 1"));
  const Result result = session_.with_passphrase({"open", session_.luks_image(), "vol"});
  EXPECT_EQ(result.exit_code, kWrong);
  EXPECT_EQ(result.err, "nbdcrypt: nbdkit: no luck today\n");
  expect_nothing_left();
}

TEST_F(Open, ServerThatEndsAtOnceLeavesNothing) {
  session_.set("NBDKIT", session_.script("vanishing", "exit 0"));
  const Result result = session_.with_passphrase({"open", session_.luks_image(), "vol"});
  EXPECT_EQ(result.exit_code, kWrong);
  EXPECT_THAT(result.err, HasSubstr("ended right after its start"));
  expect_nothing_left();
}

TEST_F(Open, MissingPluginIsNamed) {
  session_.set("NBDCRYPT_PLUGIN", session_ / "no-plugin.so");
  const Result result = session_.with_passphrase({"open", session_.luks_image(), "vol"});
  EXPECT_EQ(result.exit_code, kMissing);
  EXPECT_THAT(result.err, HasSubstr("no-plugin.so"));
  expect_nothing_left();
}

TEST_F(Open, AttachingThatFailsStopsTheServer) {
  NBDCRYPT_REQUIRE_FUSE();
  session_.script("nbdfuse", "echo 'nbdfuse: no luck today' >&2; exit 1");
  session_.set("PATH", session_.dir() + ":" + std::getenv("PATH"));
  const Result result = session_.with_passphrase({"open", "--attach", "fuse", session_.luks_image(), "vol"});
  EXPECT_EQ(result.exit_code, kWrong);
  EXPECT_EQ(result.err, "nbdcrypt: nbdfuse: no luck today\n");
  expect_nothing_left();
}

TEST_F(Open, InterruptWhileTheServerStartsLeavesNothing) {
  const std::string image = session_.luks_image();
  const std::string slow = session_.script("slow", "sleep 2; exec nbdkit \"$@\"");
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    Child opening = session_.start({"open", "--key-file", session_.key_file(), image, "vol"}, {{"NBDKIT", slow}});
    ASSERT_TRUE(eventually([&] { return fs::exists(session_.in("vol", "state.json")); }));
    EXPECT_EQ(opening.stop(signal), kWrong);
    expect_nothing_left();
  }
}

TEST_F(Open, InterruptWhileItIsAttachedLeavesNothing) {
  NBDCRYPT_REQUIRE_FUSE();
  const std::string image = session_.luks_image();
  session_.script("nbdfuse", "sleep 2; exec /usr/bin/nbdfuse \"$@\"");
  Child opening = session_.start({"open", "--attach", "fuse", "--key-file", session_.key_file(), image, "vol"},
                                 {{"PATH", session_.dir() + ":" + std::getenv("PATH")}});
  ASSERT_TRUE(eventually([&] { return fs::exists(session_.in("vol", "dev")); }));
  EXPECT_EQ(opening.stop(SIGINT), kWrong);
  expect_nothing_left();
}

TEST_F(Open, CommandThatWasKilledHalfWayIsCleanedUpByTheNext) {
  NBDCRYPT_REQUIRE_FUSE();
  const std::string image = session_.luks_image();
  session_.script("nbdfuse", "exec sleep 60");
  Child opening = session_.start({"open", "--attach", "fuse", "--key-file", session_.key_file(), image, "vol"},
                                 {{"PATH", session_.dir() + ":" + std::getenv("PATH")}});
  ASSERT_TRUE(eventually([&] { return fs::exists(session_.in("vol", "dev")); }));
  opening.stop(SIGKILL);
  // The server lives: it is an open volume that was never attached, and can be closed as one.
  EXPECT_EQ(session_.nbdcrypt({"status", "vol"}).exit_code, 0);
  const Result closed = session_.nbdcrypt({"close", "vol"});
  EXPECT_EQ(closed.exit_code, 0) << closed.err;
  expect_nothing_left();
}

TEST_F(Open, OfManyAtOnceExactlyOneOpens) {
  const std::string image = session_.luks_image();
  std::vector<Result> results(6);
  {
    std::vector<std::jthread> threads;
    for (Result& result : results) {
      threads.emplace_back([&] { result = session_.with_passphrase({"open", "--attach", "none", image, "vol"}); });
    }
  }
  int opened = 0;
  for (const Result& result : results) {
    opened += result.exit_code == 0;
    EXPECT_THAT(result.exit_code, testing::AnyOf(0, kBusy)) << result.err;
  }
  EXPECT_EQ(opened, 1);
  EXPECT_EQ(session_.nbdcrypt({"close", "vol"}).exit_code, 0);
  expect_nothing_left();
}

TEST_F(Open, OfManyClosesAtOnceNoneFailsOtherwiseThanBusyOrInactive) {
  ASSERT_EQ(session_.with_passphrase({"open", "--attach", "none", session_.luks_image(), "vol"}).exit_code, 0);
  std::vector<int> codes(6);
  {
    std::vector<std::jthread> threads;
    for (int& code : codes) threads.emplace_back([&] { code = session_.nbdcrypt({"close", "vol"}).exit_code; });
  }
  EXPECT_EQ(std::count(codes.begin(), codes.end(), 0), 1);
  for (const int code : codes) EXPECT_THAT(code, testing::AnyOf(0, kMissing, kBusy));
  expect_nothing_left();
}

TEST_F(Open, FlushThatFailsIsReportedAndTheVolumeIsClosed) {
  // A server in place of ours whose disk has died: nbdkit's eval plugin, at the address that was asked for.
  session_.set("NBDKIT", session_.script("dying", R"(exec nbdkit "$1" "$2" "$3" "$4" eval get_size='echo 1048576' \
  pread='head -c $3 /dev/zero' can_flush='echo 0; exit 0' pwrite='cat >/dev/null' flush='echo EIO disk died >&2; exit 1')"));
  const Result opened = session_.with_passphrase({"open", "--attach", "none", session_.luks_image(), "vol"});
  ASSERT_EQ(opened.exit_code, 0) << opened.err;
  const Result closed = session_.nbdcrypt({"close", "vol"});
  EXPECT_EQ(closed.exit_code, kWrong);
  EXPECT_THAT(closed.err, HasSubstr("vol: closed, but what was written last may be lost"));
  expect_nothing_left();
}

TEST_F(Open, TheVolumeKeyIsSeenNowhere) {
  NBDCRYPT_REQUIRE_FUSE();
  std::string key;  // 64 bytes that are text, so that they would be seen in any list of words
  for (int i = 0; i < 64; ++i) key += static_cast<char>('A' + (i * 7) % 26);
  const std::string key_path = session_ / "volume-key";
  std::ofstream(key_path) << key;
  const std::string image = session_ / "disk.img";
  run({"truncate", "-s", "32M", image});
  check(Args{"cryptsetup", "luksFormat", "-q", "--master-key-file", key_path} + kFast +
        Args{image, session_.key_file()});
  ASSERT_EQ(session_.with_passphrase({"open", image, "vol"}).exit_code, 0);
  int processes = 0;
  for (const auto& process : fs::directory_iterator("/proc")) {
    const std::string words = read_proc(process.path() / "cmdline"),
                      environment = read_proc(process.path() / "environ");
    if (words.find(session_.runtime()) == std::string::npos) continue;
    ++processes;
    for (const std::string& secret : {key.substr(0, 16), std::string(kPassphrase)}) {
      EXPECT_EQ(words.find(secret), std::string::npos) << process.path();
      EXPECT_EQ(environment.find(secret), std::string::npos) << process.path();
    }
  }
  EXPECT_GE(processes, 2) << "nbdkit and nbdfuse were to be looked at";
  for (const auto& file : fs::directory_iterator(session_.runtime() + "/vol")) {
    if (!file.is_regular_file() || file.path().filename() == "dev") continue;
    EXPECT_EQ(read_file(file.path()).find(key.substr(0, 16)), std::string::npos) << file.path();
  }
  EXPECT_EQ(session_.nbdcrypt({"close", "vol"}).exit_code, 0);
  expect_nothing_left();
}

}  // namespace
}  // namespace nbdcrypt::test
