// SPDX-License-Identifier: Apache-2.0
//
// serve: the server in the foreground, its addresses, and how it ends.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "tests/cli/session.h"
#include "tests/support/requires.h"
#include "tests/support/server.h"

namespace nbdcrypt::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr int kWrong = 1, kPassphraseCode = 2, kMissing = 4, kBusy = 5;

class Serve : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* tool : {"nbdkit", "cryptsetup", "nbdinfo"}) NBDCRYPT_REQUIRE_TOOL(tool);
    image_ = session_.luks_image("disk.img", 20);
  }
  Args serve(const Args& more) const { return Args{"serve", "--key-file", session_.key_file(), image_} + more; }
  bool answers(const std::string& socket) const {
    return run({"nbdinfo", "--size", "nbd+unix:///?socket=" + socket}).ok();
  }
  void expect_nothing_left() {
    EXPECT_TRUE(eventually([this] { return session_.leftovers().empty(); })) << session_.leftovers();
  }

  Session session_;
  std::string image_;
};

TEST_F(Serve, AnnouncesItsUriServesAndEndsCleanlyOnSigterm) {
  // timeout(1) sends the signal, so that what was printed until then can be read to its end.
  const Result result = run({"timeout", "--preserve-status", "-s", "TERM", "3", NBDCRYPT_PROGRAM, "serve", "--key-file",
                             session_.key_file(), image_},
                            {.environment = session_.environment()});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, session_.uri("disk.img") + "\n");
  expect_nothing_left();
}

TEST_F(Serve, IsAnEntryLikeAnyOther) {
  Child server = session_.start(serve({"--name", "vol"}));
  ASSERT_TRUE(eventually([&] { return answers(session_.in("vol", "nbd.sock")); })) << read_file(session_ / "stderr");
  EXPECT_THAT(session_.nbdcrypt({"status", "vol"}).out, HasSubstr("vol is active."));
  const Result second = session_.with_passphrase({"open", image_, "other"});
  EXPECT_EQ(second.exit_code, kBusy);
  EXPECT_THAT(second.err, HasSubstr("already open as vol"));
  EXPECT_EQ(session_.nbdcrypt({"close", "vol"}).exit_code, 0);
  EXPECT_TRUE(eventually([&] { return !server.alive(); }));
  expect_nothing_left();
}

TEST_F(Serve, EndsOnEverySignalThatAsksForIt) {
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
    Child server = session_.start(serve({"--name", "vol"}));
    ASSERT_TRUE(eventually([&] { return answers(session_.in("vol", "nbd.sock")); })) << read_file(session_ / "stderr");
    EXPECT_EQ(server.stop(signal), 0);
    expect_nothing_left();
  }
}

TEST_F(Serve, NbdkitDoesNotOutliveIt) {
  Child server = session_.start(serve({"--name", "vol"}));
  ASSERT_TRUE(eventually([&] { return answers(session_.in("vol", "nbd.sock")); }));
  server.stop(SIGKILL);
  EXPECT_TRUE(eventually([&] { return traces_of(session_.dir()).empty(); }));
  EXPECT_EQ(session_.nbdcrypt({"status", "vol"}).exit_code, kMissing);
  expect_nothing_left();
}

TEST_F(Serve, SocketOfTheCallersChoiceNeedsNoRuntimeFolder) {
  const std::string socket = session_ / "my.sock";
  Child server = session_.start(serve({"--socket", socket}));
  ASSERT_TRUE(eventually([&] { return answers(socket); })) << read_file(session_ / "stderr");
  EXPECT_FALSE(fs::exists(session_.runtime()));
  EXPECT_EQ(server.stop(), 0);
  EXPECT_FALSE(fs::exists(socket));
}

TEST_F(Serve, FileInTheSocketsPlaceIsLeftAlone) {
  const std::string path = session_.script("my.sock", "precious");
  const Result result = session_.nbdcrypt(serve({"--socket", path}));
  EXPECT_EQ(result.exit_code, kBusy);
  EXPECT_THAT(read_file(path), HasSubstr("precious"));
}

TEST_F(Serve, EndsAlsoWhileAClientIsConnected) {
  Child server = session_.start(serve({"--name", "vol"}));
  ASSERT_TRUE(eventually([&] { return answers(session_.in("vol", "nbd.sock")); }));
  const Client client(session_.uri("vol"));
  EXPECT_EQ(server.stop(), 0);
  expect_nothing_left();
}

TEST_F(Serve, SocketsMeantForAnotherProcessAreNotTaken) {
  // Otherwise nbdkit, left without any address, would listen to the whole network.
  session_.set("LISTEN_FDS", "1");
  session_.set("LISTEN_PID", "1");
  Child server = session_.start(serve({"--name", "vol"}));
  EXPECT_TRUE(eventually([&] { return answers(session_.in("vol", "nbd.sock")); })) << read_file(session_ / "stderr");
  EXPECT_EQ(server.stop(), 0);
}

TEST_F(Serve, ImageThatIsServedAlreadyIsBusyAtEveryAddress) {
  Child server = session_.start(serve({"--name", "vol"}));
  ASSERT_TRUE(eventually([&] { return answers(session_.in("vol", "nbd.sock")); }));
  EXPECT_EQ(session_.nbdcrypt(serve({"--name", "other"})).exit_code, kBusy);
  EXPECT_EQ(session_.nbdcrypt(serve({"--socket", session_ / "s"})).exit_code, kBusy);
  EXPECT_EQ(session_.nbdcrypt(serve({"--", "--run", "true"})).exit_code, kBusy);
  EXPECT_EQ(server.stop(), 0);
  expect_nothing_left();
}

TEST_F(Serve, WordsAfterDashesGoToNbdkit) {
  const Result size = session_.nbdcrypt(serve({"--", "--run", "nbdinfo --size \"$uri\""}));
  EXPECT_EQ(size.exit_code, 0) << size.err;
  EXPECT_EQ(size.out, std::to_string(4 << 20) + "\n");
  // Without an address nbdkit would listen to the whole network.
  EXPECT_THAT(session_.nbdcrypt(serve({"--", "--run", "echo \"$uri\""})).out, HasSubstr("nbd+unix:"));
  const Result failing = session_.nbdcrypt(serve({"--", "--run", "exit 7"}));
  EXPECT_EQ(failing.exit_code, 7);

  const std::string socket = session_ / "my.sock", log = session_ / "log";
  Child server = session_.start(serve({"--", "-U", socket, "--filter=log", "logfile=" + log}));
  ASSERT_TRUE(eventually([&] { return answers(socket); })) << read_file(session_ / "stderr");
  EXPECT_THAT(read_file(log), HasSubstr("Connect"));
  EXPECT_EQ(server.stop(), 0);
  expect_nothing_left();
}

TEST_F(Serve, ReadOnlyIsSaidToClients) {
  const Result result = session_.nbdcrypt(serve({"--readonly", "--", "--run", "nbdinfo --is read-only \"$uri\""}));
  EXPECT_EQ(result.exit_code, 0) << result.err;
}

TEST_F(Serve, ErrorsHaveTheUsualExitCodesAndLeaveNothing) {
  EXPECT_EQ(session_.nbdcrypt({"serve", image_}, "wrong").exit_code, kPassphraseCode);
  EXPECT_EQ(session_.with_passphrase({"serve", session_ / "missing.img"}).exit_code, kMissing);
  EXPECT_EQ(session_.nbdcrypt(serve({"--socket", session_ / "s", "--", "-p", "10810"})).exit_code, kWrong);
  EXPECT_EQ(session_.nbdcrypt(serve({"--", "--no-such-option"})).exit_code, kWrong);
  expect_nothing_left();
}

TEST_F(Serve, TakesTheSocketThatAServiceManagerHands) {
  const std::string path = session_ / "activated.sock";
  const int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(listen(listener, 5), 0);
  const pid_t pid = fork();
  if (pid == 0) {
    if (listener == 3)
      fcntl(3, F_SETFD, 0);
    else
      dup2(listener, 3);
    setenv("LISTEN_PID", std::to_string(getpid()).c_str(), 1);
    setenv("LISTEN_FDS", "1", 1);
    session_.export_environment();
    const std::string key = session_.key_file();
    execl(NBDCRYPT_PROGRAM, "nbdcrypt", "serve", "--key-file", key.c_str(), image_.c_str(), nullptr);
    _exit(127);
  }
  close(listener);
  EXPECT_TRUE(eventually([&] { return answers(path); }));
  kill(pid, SIGTERM);
  int status = -1;
  waitpid(pid, &status, 0);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace nbdcrypt::test
