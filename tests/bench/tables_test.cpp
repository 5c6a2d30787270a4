// SPDX-License-Identifier: Apache-2.0
#include "bench/tables/tables.h"

#include <gtest/gtest.h>

#include <set>
#include <sstream>

#include "aes/registry.h"
#include "bench/tables/mode_work.h"
#include "bench/tables/plot.h"

namespace nbdcrypt::bench {
namespace {

Options parse(std::vector<std::string> words) {
  std::vector<char*> argv{words.emplace(words.begin(), "nbdcrypt-tables")->data()};
  for (std::size_t i = 1; i < words.size(); ++i) argv.push_back(words[i].data());
  return parse_options(static_cast<int>(argv.size()), argv.data());
}

TEST(TablesOptions, AreParsed) {
  const Options options = parse({"slope", "--backend", "all", "--seconds", "0.5", "--plot", "a.svg", "--counts", "c"});
  EXPECT_EQ(options.table, "slope");
  EXPECT_EQ(options.backend, "all");
  EXPECT_EQ(options.seconds, 0.5);
  EXPECT_EQ(options.plot_file, "a.svg");
  EXPECT_EQ(options.counts_file, "c");
  EXPECT_TRUE(parse({"--selftest"}).selftest);
  EXPECT_EQ(parse({}).table, "sectors");
}

TEST(TablesOptions, AreRefusedByName) {
  EXPECT_THROW(parse({"--plt", "x"}), std::runtime_error);
  EXPECT_THROW(parse({"--plot"}), std::runtime_error);
  EXPECT_THROW(parse({"--seconds", "1x"}), std::runtime_error);
  EXPECT_THROW(table_named("slop"), std::runtime_error);
  EXPECT_THROW(chosen_backends("nosuch"), std::runtime_error);
}

TEST(TablesLine, FitsWhatLiesOnALine) {
  const Line line = fit_line({1, 2, 3, 10}, {7, 9, 11, 25});
  EXPECT_NEAR(line.at_zero, 5, 1e-9);
  EXPECT_NEAR(line.slope, 2, 1e-9);
}

TEST(TablesModes, AreTenWithAuthenticationOfFour) {
  std::set<std::string> modes;
  std::size_t authentications = 0;
  for (const ModeCell& cell : mode_cells(128)) {
    modes.insert(cell.mode);
    authentications += cell.work == Work::authenticate;
  }
  EXPECT_EQ(modes.size(), 10u);
  EXPECT_EQ(authentications, 4u);
}

/// A backend that gives wrong results is not timed.
TEST(TablesModes, RefuseAWrongBackend) {
  aes::Backend wrong = *aes::by_name("generic");
  wrong.name = "wrong";
  wrong.encrypt = [](const aes::Key& key, const aes::Byte* in, aes::Byte* out, std::size_t blocks) noexcept {
    aes::by_name("generic")->encrypt(key, in, out, blocks);
    if (blocks > 0) out[0] ^= 1;
  };
  for (const ModeCell& cell : mode_cells(128)) {
    if (cell.work == Work::encrypt) { EXPECT_THROW(make_pass(cell, wrong), std::runtime_error) << cell.mode; }
  }
}

TEST(TablesTcrypt, HasTheCellsOfTcrypt) {
  const std::vector<Row> rows = tcrypt_rows(*aes::by_name("generic"), Meter("", 0));
  ASSERT_EQ(rows.size(), 15u);
  for (const Row& row : rows) {
    for (const char* column :
         {"ecb_enc", "ecb_dec", "cbc_enc", "cbc_dec", "ctr_enc", "ctr_dec", "xts_enc", "xts_dec"}) {
      ASSERT_NE(row.find(column), nullptr) << column;
      EXPECT_GT(std::get<double>(*row.find(column)), 0) << column;
    }
  }
}

TEST(TablesUnit, IsInEachRow) {
  for (const Row& row : packets_rows(*aes::by_name("generic"), Meter("", 0))) {
    ASSERT_NE(row.find("unit"), nullptr);
    EXPECT_EQ(std::get<std::string>(*row.find("unit")), "ns");
  }
  EXPECT_THROW(Meter("/nonexistent/counts", 0), std::runtime_error);
}

TEST(TablesPlot, DrawsABarForEachRow) {
  std::vector<Row> rows(2);
  rows[0].set("mode", "A<B").set("same", "x").set("figure", 2.0);
  rows[1].set("mode", "C").set("same", "x").set("figure", 1.0);
  std::ostringstream svg;
  write_svg(svg, rows, "figure");
  EXPECT_NE(svg.str().find("A&lt;B"), std::string::npos);
  EXPECT_NE(svg.str().find("width=\"520\""), std::string::npos);
  EXPECT_NE(svg.str().find("width=\"260\""), std::string::npos);
  EXPECT_EQ(svg.str().find(">x<"), std::string::npos);
}

}  // namespace
}  // namespace nbdcrypt::bench
