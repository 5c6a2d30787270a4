// SPDX-License-Identifier: Apache-2.0
//
// What the NBD benchmark makes of its figures.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "base/error.h"
#include "bench/nbd/loads.h"

namespace nbdcrypt::test {
namespace {

using namespace bench::nbd;
using testing::AllOf;
using testing::Contains;
using testing::Not;
using testing::StartsWith;

std::vector<double> one_to(int n) {
  std::vector<double> values(static_cast<std::size_t>(n));
  std::iota(values.begin(), values.end(), 1);
  return values;
}

// Conover, Practical Nonparametric Statistics, table A3: 15 values, 4th to 12th: 96.5 %; 20 values, 6th to 15th: 95.9
// %.
TEST(NbdBenchmark, MedianLiesBetweenOrderStatistics) {
  EXPECT_TRUE(std::isnan(median_interval(one_to(4)).low));
  EXPECT_EQ(median_interval(one_to(5)).low, 1);
  EXPECT_EQ(median_interval(one_to(5)).high, 5);
  EXPECT_EQ(median_interval(one_to(7)).low, 1);
  EXPECT_EQ(median_interval(one_to(15)).low, 4);
  EXPECT_EQ(median_interval(one_to(15)).high, 12);
  EXPECT_EQ(median_interval(one_to(20)).low, 6);
  EXPECT_EQ(median_interval(one_to(20)).high, 15);
}

TEST(NbdBenchmark, RatioIsTakenInEachRound) {
  // The machine is half as fast in the second round.
  const bench::Row row =
      summary({"nbdcopy read", "read", "", 4}, {{90, 1}, {45, 2}, {90, 1}}, {{100, 0}, {50, 0}, {100, 0}});
  EXPECT_EQ(std::get<double>(*row.find("ratio")), 0.9);
  EXPECT_EQ(std::get<double>(*row.find("mb_per_s")), 90);
  EXPECT_EQ(std::get<double>(*row.find("server_cpu_s_per_gb")), 1);
  EXPECT_TRUE(std::isnan(std::get<double>(*row.find("ratio_low"))));
}

TEST(NbdBenchmark, InFlightIsTheSameForAnyNumberOfConnections) {
  for (const Load& load : loads({1, 4, 32}, true)) {
    if (load.block == "4k") { EXPECT_EQ(load.connections * load.depth, 32u) << load.name; }
    if (load.copies()) continue;
    EXPECT_THAT(words(load, "URI", "SOURCE", 1.5), AllOf(Contains("--numjobs=" + std::to_string(load.connections)),
                                                         Contains("--runtime=1500ms"), Contains("--uri=URI")));
  }
  EXPECT_EQ(loads({4}, false).size(), 2u);
  EXPECT_EQ(words(loads({4}, false)[1], "URI", "SOURCE", 1),
            (std::vector<std::string>{"nbdcopy", "--connections=4", "SOURCE", "URI"}));
}

TEST(NbdBenchmark, OutputOfFioThatIsNotUnderstoodIsAnError) {
  const Load load = loads({4}, true)[2];
  const Moved moved =
      fio_result(load, R"(note: x {"jobs":[{"read":{"io_bytes":2000,"runtime":500},"write":{"io_bytes":0}}]})");
  EXPECT_EQ(moved.bytes, 2000);
  EXPECT_EQ(moved.seconds, 0.5);
  for (const char* output : {"", "no braces", "{}", R"({"jobs":[]})", R"({"jobs":[{"write":{}}]})"})
    EXPECT_THROW(fio_result(load, output), base::Error) << output;
}

}  // namespace
}  // namespace nbdcrypt::test
