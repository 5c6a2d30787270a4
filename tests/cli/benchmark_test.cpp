// SPDX-License-Identifier: Apache-2.0
//
// nbdcrypt benchmark: every column and phase, what is read back from its files, and above all that nothing is left,
// however it ends. How fast anything is never decides a test.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "tests/cli/session.h"
#include "tests/support/requires.h"

namespace nbdcrypt::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

constexpr int kWrong = 1, kMissing = 4;
const std::set<std::string> kLoads = {"putc", "rewrite", "write", "getc", "read", "seeks", "create", "stat", "delete"};

class FsBenchmark : public testing::Test {
 protected:
  void SetUp() override {
    NBDCRYPT_REQUIRE(geteuid() == 0, "root");
    for (const char* tool : {"nbdkit", "nbdfuse", "fusermount3", "losetup", "mkfs.ext4"}) NBDCRYPT_REQUIRE_TOOL(tool);
    NBDCRYPT_REQUIRE(access("/dev/fuse", R_OK | W_OK) == 0, "/dev/fuse");
    NBDCRYPT_REQUIRE(access("/dev/loop-control", R_OK | W_OK) == 0, "loop devices");
    images_ = session_.folder("images");
  }
  Args small(const Args& more = {}) const {
    return Args{"benchmark", "fs", "--dir",   images_, "--file-size", "4M",
                "--runs",    "1",  "--files", "20",    "--seconds",   "0.3"} +
           more;
  }
  // One that lasts until it is stopped.
  Args endless() const {
    return {"benchmark", "fs", "--dir", images_, "--file-size", "64M", "--runs", "1000", "--files", "100"};
  }
  json measured(const Args& more) {
    const Result result = session_.nbdcrypt(small(more) + Args{"--json", "-", "-q"});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    expect_nothing_left();
    return json::parse(result.out).at("rows");
  }
  // The folder of the benchmark's own, once it is there.
  std::string workplace() const {
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(images_, ignored)) return entry.path();
    return {};
  }
  std::string entry() const {
    std::error_code ignored;
    for (const auto& found : fs::directory_iterator(session_.runtime(), ignored)) return found.path().filename();
    return {};
  }
  bool loaded() const { return fs::exists(workplace() + "/mnt/bonnie"); }
  void expect_nothing_left() {
    EXPECT_TRUE(eventually([this] { return session_.leftovers().empty(); })) << session_.leftovers();
    EXPECT_EQ(workplace(), "");
  }

  Session session_;
  std::string images_;
};

// proc(5), /proc/PID/task/TID/children.
std::vector<pid_t> children_of(pid_t parent) {
  const std::string pid = std::to_string(parent);
  std::istringstream words(read_proc("/proc/" + pid + "/task/" + pid + "/children"));
  return {std::istream_iterator<pid_t>(words), {}};
}

std::set<std::string> texts(const json& rows, const char* field) {
  std::set<std::string> found;
  for (const json& row : rows) found.insert(row.at(field));
  return found;
}

TEST_F(FsBenchmark, EveryColumnHasEveryPhase) {
  NBDCRYPT_REQUIRE_TOOL("qemu-nbd");
  const json rows = measured({"--peers", "--backend", "generic,generic"});
  EXPECT_EQ(texts(rows, "load"), kLoads);
  EXPECT_EQ(texts(rows, "column"),
            (std::set<std::string>{"no encryption", "one block at a time", "whole buffer", "batch", "batch, generic",
                                   "nbdkit luks filter", "qemu-nbd luks"}));
  EXPECT_EQ(rows.size(), kLoads.size() * 7);
  for (const json& row : rows) {
    EXPECT_EQ(row.at("table"), "fs");
    EXPECT_GT(row.value("kb_per_s", row.value("per_second", 0.0)), 0) << row;
    if (row.at("column") == "no encryption") { EXPECT_EQ(row.at("ratio"), 1.0) << row; }
  }
}

TEST_F(FsBenchmark, EssivWithSmallSectorsOnExt2LeavesOutTheFilterThatCannot) {
  NBDCRYPT_REQUIRE_TOOL("qemu-nbd");
  const json rows = measured(
      {"--peers", "--fstype", "ext2", "--cipher", "aes-cbc-essiv:sha256", "--key-size", "128", "--sector-size", "512"});
  EXPECT_EQ(texts(rows, "column").count("nbdkit luks filter"), 0u);
  EXPECT_EQ(texts(rows, "column").count("qemu-nbd luks"), 1u);
  EXPECT_EQ(texts(rows, "file_system"), std::set<std::string>{"ext2"});
}

TEST_F(FsBenchmark, OtherFileSystems) {
  for (const char* type : {"xfs", "btrfs"}) {
    NBDCRYPT_REQUIRE_TOOL(std::string("mkfs.") + type);
    EXPECT_EQ(texts(measured({"--fstype", type}), "load"), kLoads) << type;
  }
}

TEST_F(FsBenchmark, RawHasNoFilesToCreate) {
  EXPECT_EQ(texts(measured({"--raw"}), "load"),
            (std::set<std::string>{"putc", "rewrite", "write", "getc", "read", "seeks"}));
}

TEST_F(FsBenchmark, WithoutRootThroughFuse2fs) {
  for (const char* tool : {"fuse2fs", "setpriv"}) NBDCRYPT_REQUIRE_TOOL(tool);
  const FuseAccess open_to_all(true);
  fs::permissions(session_.dir(), fs::perms(0777));
  fs::permissions(images_, fs::perms(0777));
  const Result result = session_.as_nobody(Args{NBDCRYPT_PROGRAM} + small({"--json", "-", "-q"}));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(texts(json::parse(result.out).at("rows"), "load"), kLoads);
  EXPECT_EQ(workplace(), "");
}

TEST_F(FsBenchmark, RealProgramsInPlaceOfOurPhases) {
  for (const char* tool : {"fio", "bonnie++"}) NBDCRYPT_REQUIRE_TOOL(tool);
  EXPECT_EQ(texts(measured({"--tool", "fio"}), "load"), (std::set<std::string>{"write", "read", "seeks"}));
  const Result result = session_.nbdcrypt({"benchmark", "fs", "--dir", images_, "--file-size", "4M", "--runs", "1",
                                           "--files", "0", "--tool", "bonnie++", "--json", "-"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json rows = json::parse(result.out).at("rows");  // it is too quick for itself to tell most of them
  EXPECT_EQ(texts(rows, "load").count("putc"), 1u);
}

TEST_F(FsBenchmark, ImageOfTheUsersIsOverwrittenAndKept) {
  const std::string image = images_ + "/mine";
  std::ofstream(image) << "precious";
  EXPECT_EQ(session_.nbdcrypt(small({"--image", image, "-q"})).exit_code, kWrong);  // too small
  EXPECT_EQ(read_file(image), "precious");
  fs::resize_file(image, 256 << 20);
  EXPECT_EQ(session_.nbdcrypt(small({"--image", image, "-q"})).exit_code, 0);
  EXPECT_EQ(fs::file_size(image), 256u << 20);
  fs::remove(image);
  expect_nothing_left();
}

TEST_F(FsBenchmark, TablePlanCsvAndPlot) {
  NBDCRYPT_REQUIRE_TOOL("gnuplot");
  const std::string csv = session_ / "out.csv", svg = session_ / "out.svg", png = session_ / "out.png";
  const Result result = session_.nbdcrypt(small({"--csv", csv, "--plot", svg}));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("columns: no encryption; one block at a time; whole buffer; batch"));
  EXPECT_THAT(result.err, HasSubstr("1 run of each, about "));
  EXPECT_THAT(result.out, HasSubstr("Writing with putc()"));
  EXPECT_THAT(result.out, HasSubstr("(100 %)"));
  const std::string lines = read_file(csv);
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 1 + 9 * 4);
  EXPECT_THAT(read_file(svg), HasSubstr("</svg>"));
  EXPECT_THAT(read_file(svg), HasSubstr("one block at a time"));
  ASSERT_EQ(session_.nbdcrypt(small({"--plot", png, "-q"})).exit_code, 0);
  EXPECT_EQ(read_file(png).substr(1, 3), "PNG");
}

TEST_F(FsBenchmark, InterruptAtAnyMomentLeavesNothing) {
  const std::function<bool()> moments[] = {
      [&] { return fs::exists(workplace() + "/image"); },
      [&] { return fs::exists(session_.runtime() + "/" + entry() + "/nbd.sock"); },
      [&] { return session_.leftovers().find("mount ") != std::string::npos; },
      [&] { return loaded(); },
  };
  for (const int signal : {SIGINT, SIGTERM}) {
    for (const auto& moment : moments) {
      Child benchmark = session_.start(endless());
      ASSERT_TRUE(eventually(moment));
      EXPECT_EQ(benchmark.stop(signal), kWrong);
      EXPECT_THAT(read_file(session_ / "stderr"), HasSubstr("interrupted"));
      expect_nothing_left();
    }
  }
}

TEST_F(FsBenchmark, InterruptInEachPhaseLeavesNothing) {
  for (int tenths = 1; tenths < 12; tenths += 3) {
    Child benchmark = session_.start(endless());
    ASSERT_TRUE(eventually([&] { return loaded(); }));
    usleep(static_cast<useconds_t>(tenths * 100000));
    EXPECT_EQ(benchmark.stop(SIGINT), kWrong);
    expect_nothing_left();
  }
}

TEST_F(FsBenchmark, KilledServerIsAnErrorAndLeavesNothing) {
  Child benchmark = session_.start(endless());
  ASSERT_TRUE(eventually([&] { return loaded(); }));
  session_.kill_server(entry());
  ASSERT_TRUE(eventually([&] { return !benchmark.alive(); }));
  EXPECT_EQ(benchmark.stop(), kWrong);
  expect_nothing_left();
}

TEST_F(FsBenchmark, KilledServerInEachPhaseLeavesNothing) {
  for (int tenths = 1; tenths < 12; tenths += 3) {
    Child benchmark = session_.start(endless());
    ASSERT_TRUE(eventually([&] { return loaded(); }));
    usleep(static_cast<useconds_t>(tenths * 100000));
    // One that is killed when its turn is over does not matter: then the next one is.
    ASSERT_TRUE(eventually([&] {
      if (const pid_t server = session_.server(entry()); server > 0) kill(server, SIGKILL);
      usleep(500000);
      return !benchmark.alive();
    }));
    EXPECT_EQ(benchmark.stop(), kWrong);
    expect_nothing_left();
  }
}

TEST_F(FsBenchmark, KilledBenchmarkLeavesNothing) {
  const std::function<bool()> moments[] = {
      [&] { return fs::exists(workplace() + "/image"); },
      [&] { return fs::exists(session_.runtime() + "/" + entry() + "/nbd.sock"); },
      [&] { return session_.leftovers().find("mount ") != std::string::npos; },
      [&] { return loaded(); },
  };
  for (const auto& moment : moments) {
    Child benchmark = session_.start(endless());
    ASSERT_TRUE(eventually(moment));
    benchmark.stop(SIGKILL);
    EXPECT_TRUE(eventually([&] { return workplace().empty(); }));
    expect_nothing_left();
  }
}

TEST_F(FsBenchmark, KilledWithItsWatchdogIsCleanedUpByTheNextCommand) {
  Child benchmark = session_.start(endless());
  ASSERT_TRUE(eventually([&] { return loaded(); }));
  const std::string left = workplace(), name = entry();
  for (const pid_t child : children_of(benchmark.pid())) kill(child, SIGKILL);  // the load as well
  benchmark.stop(SIGKILL);
  session_.kill_server(name);
  EXPECT_EQ(session_.nbdcrypt({"status"}).exit_code, 0);
  EXPECT_TRUE(eventually([this] { return session_.leftovers().empty(); })) << session_.leftovers();
  fs::remove_all(left);  // its image is an ordinary file, and stays
}

TEST_F(FsBenchmark, RefusesBeforeItBegins) {
  const auto refusal = [&](const Args& more, int exit_code) {
    const Result result = session_.nbdcrypt(small(more));
    EXPECT_EQ(result.exit_code, exit_code) << result.err;
    EXPECT_EQ(workplace(), "");
    return result.err;
  };
  EXPECT_THAT(refusal({"--fstype", "minix"}, kWrong), HasSubstr("--fstype minix: expected ext2"));
  EXPECT_THAT(refusal({"--backend", "abacus"}, kWrong), HasSubstr("abacus"));
  EXPECT_THAT(refusal({"--plot", "a.gif"}, kWrong), HasSubstr("a.gif: a plot is a .svg or a .png"));
  EXPECT_THAT(refusal({"--tool", "dd"}, kWrong), HasSubstr("--tool dd: expected own, bonnie++ or fio"));
  EXPECT_THAT(refusal({"--tool", "bonnie++"}, kWrong), HasSubstr("--seconds"));
  EXPECT_THAT(refusal({"--cipher", "aes-foo-plain"}, kWrong), HasSubstr("foo"));
  EXPECT_THAT(refusal({"--raw", "--tool", "fio"}, kWrong), HasSubstr("--raw"));
  EXPECT_THAT(refusal({"--image", "/nonexistent"}, kMissing), HasSubstr("/nonexistent"));
  EXPECT_THAT(refusal({"--table", "sectors"}, kWrong), HasSubstr("option --table is not one of this benchmark's"));
  const Result huge = session_.nbdcrypt({"benchmark", "fs", "--dir", images_, "--file-size", "900T"});
  EXPECT_EQ(huge.exit_code, kWrong);
  EXPECT_THAT(huge.err, HasSubstr("needed"));
  expect_nothing_left();
}

TEST(Benchmark, UnknownNameAndForeignOptionsAreRefused) {
  EXPECT_THAT(nbdcrypt({"benchmark", "tape"}).err, HasSubstr("unknown benchmark tape"));
  EXPECT_THAT(nbdcrypt({"benchmark", "--peers"}).err, HasSubstr("--peers"));
  EXPECT_EQ(nbdcrypt({"benchmark", "--table", "nothing"}).exit_code, kWrong);
  EXPECT_EQ(nbdcrypt({"benchmark", "report"}).exit_code, kWrong);
}

TEST(Benchmark, CiphersInMemory) {
  const Result result = nbdcrypt({"benchmark", "--cipher", "aes-xts-plain64", "--key-size", "512", "--seconds", "0"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("        aes-xts       512b"));
  EXPECT_THAT(result.out, Not(HasSubstr("PBKDF2")));
  const json rows = json::parse(nbdcrypt({"benchmark", "--cipher", "aes-cbc-plain64", "--seconds", "0", "--backend",
                                          "generic", "--json", "-"})
                                    .out)
                        .at("rows");
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].at("backend"), "generic");
}

TEST(Benchmark, TablesAreTheSameAsThoseOfTheirOwnProgram) {
  EXPECT_THAT(nbdcrypt({"benchmark", "--table", "list"}).out, HasSubstr("sectors"));
  const Result result =
      nbdcrypt({"benchmark", "--table", "sectors", "--backend", "generic", "--seconds", "0", "--json", "-"});
  EXPECT_EQ(json::parse(result.out).at("rows").size(), 6u * 2 * 2 * 4);
}

TEST(Benchmark, OtherLibrariesHaveTheirRowsInTheSectorTable) {
  const std::string self = NBDCRYPT_PROGRAM;
  NBDCRYPT_REQUIRE(access((self.substr(0, self.rfind('/')) + "/nbdcrypt-peers").c_str(), X_OK) == 0,
                   "nbdcrypt-peers, built where its peers are");
  Session session;
  const Result result = session.nbdcrypt(
      {"benchmark", "--table", "sectors", "--backend", "generic", "--seconds", "0", "--peers", "--json", "-"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  std::set<std::string> libraries;
  const json report = json::parse(result.out);
  for (const json& row : report.at("rows")) {
    EXPECT_EQ(row.at("table"), "sectors");
    const std::string library = row.at("library");
    libraries.insert(library.substr(0, library.find(' ')));
    EXPECT_EQ(row.contains("ratio"), library == "nbdcrypt") << row;
  }
  EXPECT_THAT(libraries, testing::IsSupersetOf({"nbdcrypt", "openssl", "libgcrypt"}));
  EXPECT_EQ(session.nbdcrypt({"benchmark", "--table", "slope", "--peers"}).exit_code, kWrong);
  EXPECT_EQ(session.nbdcrypt({"benchmark", "--peers"}).exit_code, kWrong);
}

TEST(Benchmark, TablesOfAllBackendsArePlotted) {
  const TempDir dir;
  const auto packets = [](const Args& more) {
    return nbdcrypt(Args{"benchmark", "--table", "packets", "--seconds", "0"} + more);
  };
  const std::string svg = dir / "out.svg", png = dir / "out.png";
  const Result all = packets({"--backend", "all", "--plot", svg, "--json", "-"});
  ASSERT_EQ(all.exit_code, 0) << all.err;
  std::set<std::string> backends;
  const json rows = json::parse(all.out).at("rows");
  for (const json& row : rows) backends.insert(row.at("backend"));
  EXPECT_GE(backends.size(), 2u);
  for (const std::string& backend : backends) EXPECT_THAT(read_file(svg), HasSubstr(backend));
  EXPECT_THAT(packets({"--plot", "out.gif"}).err, HasSubstr("out.gif: a plot is a .svg or a .png"));
  EXPECT_THAT(nbdcrypt({"benchmark", "--plot", svg}).err, HasSubstr("option --plot is for fs, nbd and --table"));
  NBDCRYPT_REQUIRE_TOOL("gnuplot");
  ASSERT_EQ(packets({"--backend", "generic", "--plot", png}).exit_code, 0);
  EXPECT_EQ(read_file(png).substr(1, 3), "PNG");
}

TEST(BenchmarkReport, OnePageWithPlotsInline) {
  NBDCRYPT_REQUIRE_TOOL("gnuplot");
  const TempDir dir;
  dir.file("fs.json",
           R"({"machine": {"processor": "A & B"}, "rows": [
             {"table": "fs", "load": "putc", "column": "no encryption", "kb_per_s": 100.0, "ratio": 1},
             {"table": "fs", "load": "putc", "column": "batch", "kb_per_s": 96, "ratio": 0.96}]})");
  dir.file("sectors.json", R"({"machine": {}, "rows": [{"table": "sectors", "backend": "<b>", "mb_per_s": null}]})");
  const Result result = nbdcrypt({"benchmark", "report", dir.path()});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const std::string page = read_file(dir / "index.html");
  EXPECT_THAT(page, HasSubstr("A &amp; B"));
  EXPECT_THAT(page, HasSubstr("&lt;b&gt;"));
  EXPECT_THAT(page, HasSubstr("96 (96 %)"));
  EXPECT_THAT(page, HasSubstr("<figure><svg"));
  for (const char* outside : {"<script", "src=", "href=\"http", "url(http", "@import"})
    EXPECT_THAT(page, Not(HasSubstr(outside)));
}

TEST(BenchmarkReport, WhatIsNoResultIsNamed) {
  NBDCRYPT_REQUIRE_TOOL("gnuplot");
  const TempDir dir;
  EXPECT_EQ(nbdcrypt({"benchmark", "report", dir.path()}).exit_code, kMissing);
  dir.file("odd.json", "[1, 2");
  const Result result = nbdcrypt({"benchmark", "report", dir.path()});
  EXPECT_EQ(result.exit_code, kWrong);
  EXPECT_THAT(result.err, HasSubstr("odd.json: not a benchmark's result"));
}

class NbdBenchmark : public FsBenchmark {
 protected:
  void SetUp() override {
    for (const char* tool : {"nbdkit", "nbdcopy", "fio", "qemu-nbd"}) NBDCRYPT_REQUIRE_TOOL(tool);
    images_ = session_.folder("images");
  }
  Args small(const Args& more) const {
    return Args{"benchmark", "nbd", "--dir", images_, "--file-size", "4M", "--runs", "1", "--seconds", "0.1"} + more;
  }
  json measured(const Args& more) {
    const Result result = session_.nbdcrypt(small(more) + Args{"--json", "-", "-q"});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    expect_nothing_left();
    return json::parse(result.out).at("rows");
  }
};

TEST_F(NbdBenchmark, EveryServerTakesItsTurnWithEveryLoad) {
  const json rows = measured({"--backend", "generic,table"});
  EXPECT_EQ(texts(rows, "server"),
            (std::set<std::string>{"nbdkit file", "nbdcrypt", "nbdkit luks filter", "qemu-nbd luks"}));
  EXPECT_EQ(texts(rows, "load"), (std::set<std::string>{"nbdcopy read", "nbdcopy write", "fio read 1m", "fio write 1m",
                                                        "fio randread 4k", "fio randwrite 4k"}));
  EXPECT_EQ(rows.size(), 5u * 6);
  for (const json& row : rows) {
    EXPECT_EQ(row.at("table"), "nbd");
    EXPECT_GT(row.at("mb_per_s").get<double>(), 0) << row;
    EXPECT_GE(row.at("server_cpu_s_per_gb").get<double>(), 0) << row;
    if (row.at("server") == "nbdkit file") { EXPECT_EQ(row.at("ratio"), 1.0) << row; }
    EXPECT_TRUE(row.at("ratio_low").is_null()) << row;  // one round cannot tell
  }
}

TEST_F(NbdBenchmark, EveryNumberOfConnectionsAndThreadsOnADiskWithoutItsCache) {
  const json rows = measured({"--connections", "1,3", "--threads", "1,2", "--evict", "--cipher", "aes-cbc-essiv:sha256",
                              "--sector-size", "4096"});
  EXPECT_EQ(rows.size(), 3u * 6 * 2 * 2);  // no luks filter: it does not know essiv
  std::set<std::pair<int, int>> seen;
  for (const json& row : rows) seen.emplace(row.at("connections"), row.at("threads"));
  EXPECT_EQ(seen, (std::set<std::pair<int, int>>{{1, 1}, {1, 2}, {3, 1}, {3, 2}}));
}

TEST_F(NbdBenchmark, InterruptAndKilledServerLeaveNothing) {
  const Args endless = {"benchmark", "nbd", "--dir", images_, "--file-size", "64M", "--runs", "1000"};
  for (const bool interrupted : {true, false}) {
    Child benchmark = session_.start(endless);
    ASSERT_TRUE(eventually([&] { return fs::exists(session_.runtime() + "/" + entry() + "/nbd.sock"); }));
    if (interrupted) {
      EXPECT_EQ(benchmark.stop(SIGINT), kWrong);
    } else {
      ASSERT_TRUE(eventually([&] {
        if (const pid_t server = session_.server(entry()); server > 0) kill(server, SIGKILL);
        return !benchmark.alive();
      }));
      EXPECT_EQ(benchmark.stop(), kWrong);
    }
    expect_nothing_left();
  }
}

TEST_F(NbdBenchmark, RefusesBeforeItBegins) {
  const auto refused = [&](const Args& more) {
    EXPECT_EQ(session_.nbdcrypt(small(more)).exit_code, kWrong);
    EXPECT_EQ(workplace(), "");
  };
  refused({"--connections", "0"});
  refused({"--connections", "4,many"});
  refused({"--threads", "-1"});
  refused({"--backend", "abacus"});
  refused({"--plot", "out.gif"});
  refused({"--fstype", "ext4"});
  refused({"--file-size", "1M"});
}

}  // namespace
}  // namespace nbdcrypt::test
