// SPDX-License-Identifier: Apache-2.0
//
// The parts of the file system benchmark that need no server: phases in an ordinary folder, what the real programs
// print, and the arithmetic from samples to the table.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "base/error.h"
#include "bench/fs/report.h"
#include "bench/fs/summary.h"
#include "bench/fs/tools.h"
#include "bench/fs/worker.h"
#include "tests/support/temp_dir.h"

namespace nbdcrypt::bench::fs {
namespace {

using testing::ContainsRegex;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

struct Told {
  Phase phase;
  double amount, seconds;
};

class Listener final : public Observer {
 public:
  void begin(Phase phase) override { begun.push_back(phase); }
  void step(std::uint64_t) override { ++steps; }
  void end(Phase phase, double amount, double seconds) override { told.push_back({phase, amount, seconds}); }
  double amount_of(Phase phase) const {
    for (const Told& each : told) {
      if (each.phase == phase) return each.amount;
    }
    return -1;
  }
  std::vector<Phase> begun;
  std::vector<Told> told;
  int steps = 0;
};

TEST(FsPhases, MoveTheWholeFileAndLeaveTheFolderEmpty) {
  const test::TempDir dir;
  Listener listener;
  run_phases({.where = dir.path(), .file_bytes = 2 << 20, .files = 10}, listener);
  EXPECT_EQ(listener.begun, std::vector<Phase>(kPhases.begin(), kPhases.end()));
  for (const Phase phase : {Phase::putc, Phase::rewrite, Phase::write, Phase::getc, Phase::read})
    EXPECT_EQ(listener.amount_of(phase), 2 << 20);
  for (const Phase phase : {Phase::create, Phase::stat, Phase::remove}) EXPECT_EQ(listener.amount_of(phase), 10);
  EXPECT_TRUE(std::filesystem::is_empty(dir.path()));
}

TEST(FsPhases, EndWhenTheirTimeIsOver) {
  const test::TempDir dir;
  Listener listener;
  run_phases({.where = dir.path(), .file_bytes = 1 << 30, .seconds = 0.001}, listener);
  EXPECT_LT(listener.amount_of(Phase::write), 1 << 30);
  EXPECT_GT(listener.amount_of(Phase::read), 0);
}

TEST(FsPhases, FailWithTheSystemsWords) {
  Listener listener;
  EXPECT_THROW(run_phases({.where = "/nonexistent", .file_bytes = 1 << 20}, listener), base::Error);
}

TEST(FsWorker, PassesOnWhatTheChildObservesAndItsError) {
  Listener listener;
  run_in_worker([](Observer& observer) { observer.end(Phase::read, 42, 2); }, nullptr, listener, [] {});
  EXPECT_EQ(listener.amount_of(Phase::read), 42);
  const Body failing = [](Observer&) { throw std::runtime_error("the disk is on fire"); };
  try {
    run_in_worker(failing, nullptr, listener, [] {});
    FAIL() << "no error";
  } catch (const base::Error& error) { EXPECT_STREQ(error.what(), "the disk is on fire"); }
}

TEST(FsWorker, IsKilledWhenCheckThrows) {
  Listener listener;
  const Body endless = [](Observer& observer) {
    for (;;) observer.step(1);
  };
  const auto check = [&] {
    if (listener.steps > 10) throw std::runtime_error("stop");
  };
  EXPECT_THROW(run_in_worker(endless, nullptr, listener, check), std::runtime_error);
}

// bonnie++ 2.00a on a loop device.
TEST(FsTools, BonnieIsUnderstood) {
  Listener listener;
  tell_results(Tool::bonnie,
               "1.98,2.00a,host,1,1796111648,2G,,8192,5,1405,99,674986,60,583780,70,2255,99,1835200,80,5123.4,12,4,,,,,"
               "18000,50,+++++,+++,22000,40,18000,50,+++++,+++,22000,40,1us,2us\n",
               listener);
  EXPECT_EQ(listener.amount_of(Phase::putc), 1405 * 1024.0);
  EXPECT_EQ(listener.amount_of(Phase::write), 674986 * 1024.0);
  EXPECT_EQ(listener.amount_of(Phase::rewrite), 583780 * 1024.0);
  EXPECT_EQ(listener.amount_of(Phase::getc), 2255 * 1024.0);
  EXPECT_EQ(listener.amount_of(Phase::read), 1835200 * 1024.0);
  EXPECT_EQ(listener.amount_of(Phase::seeks), 5123.4);
  EXPECT_EQ(listener.amount_of(Phase::create), 18000);
  EXPECT_EQ(listener.amount_of(Phase::stat), -1);  // too quick to tell
  EXPECT_EQ(listener.amount_of(Phase::remove), 22000);
  EXPECT_THROW(tell_results(Tool::bonnie, "Segmentation fault\n", listener), base::Error);
  EXPECT_THROW(tell_results(Tool::fio, "fio: no\n", listener), base::Error);
}

TEST(FsSummary, RatiosOfMediansAndQuartilesOfTheRounds) {
  const std::vector<Column> columns = columns_for("", {}, false);
  ASSERT_EQ(columns.size(), 4u);
  Samples samples(columns.size());
  for (const double factor : {1.0, 2.0, 4.0}) {
    for (std::size_t c = 0; c < columns.size(); ++c)
      samples[c].push_back({{Phase::read, factor * (c == 0 ? 100 : 50), 0.25, 1}});
  }
  const Grid grid = grid_of(summarise(columns, samples, Row()));
  EXPECT_THAT(grid.columns, ElementsAre("no encryption", "one block at a time", "whole buffer", "batch"));
  ASSERT_EQ(grid.lines.size(), 1u);
  EXPECT_EQ(grid.lines[0].title, "Reading intelligently");
  EXPECT_EQ(grid.lines[0].cells[0].value, 200);
  EXPECT_EQ(grid.lines[0].cells[3].value, 100);
  EXPECT_EQ(grid.lines[0].cells[3].ratio, 0.5);
  EXPECT_EQ(grid.lines[0].cells[3].cpu, 0.25);
  std::ostringstream table;
  write_table(table, grid);
  EXPECT_THAT(table.str(), HasSubstr("100 (50 %)"));
}

TEST(FsSummary, UnderEmulationRatiosAlone) {
  const std::vector<Column> columns = columns_for("", {}, true);
  EXPECT_EQ(columns.back().name, "dm-crypt");
  Samples samples(columns.size());
  for (std::size_t c = 0; c < columns.size(); ++c) {
    const bool first = c == 0, kernel = c + 1 == columns.size();
    samples[c].push_back({{Phase::read, first ? 123456. : 61728.,
                           kernel  ? std::nan("")
                           : first ? 0.25
                                   : 0.75,
                           1},
                          {Phase::create, first ? 98765. : 9876.5, std::nan(""), 1}});
  }
  std::vector<Row> rows = summarise(columns, samples, Row().set("table", "fs"));
  EXPECT_FALSE(grid_of(rows).only_ratios());
  keep_ratios(rows);
  const Grid grid = grid_of(rows);
  ASSERT_TRUE(grid.only_ratios());
  EXPECT_TRUE(grid.lines[0].data);
  EXPECT_FALSE(grid.lines[1].data);
  std::ostringstream table;
  write_table(table, grid);
  EXPECT_THAT(table.str(), HasSubstr(kEmulationNotice));
  EXPECT_THAT(table.str(), ContainsRegex("server CPU.*\n.*Reading intelligently .* 300 % .* -\n"));
  EXPECT_THAT(table.str(), ContainsRegex("Creating files .* 10 %\n"));
  const std::string page =
      html_report({{"vm.json", Row(), rows}}, [](const Grid&, const std::string&) { return "<svg/>"; });
  EXPECT_THAT(page, HasSubstr(kEmulationNotice));
  EXPECT_THAT(page, HasSubstr("<td>50 %</td>"));
  for (const char* absolute : {"123456", "61728", "98765", "0.75", "s/GB"}) {
    EXPECT_THAT(table.str(), Not(HasSubstr(absolute)));
    EXPECT_THAT(page, Not(HasSubstr(absolute)));
  }
}

}  // namespace
}  // namespace nbdcrypt::bench::fs
