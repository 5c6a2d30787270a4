// SPDX-License-Identifier: Apache-2.0
#include "bench/nbd/loads.h"

#include <chrono>
#include <nlohmann/json.hpp>

namespace nbdcrypt::bench {
namespace {

using Clock = std::chrono::steady_clock;

struct Moved {
  double bytes, seconds;
};

Moved run_nbdcopy(const Load& load, const std::string& uri, const Disks& disks) {
  const test::Args argv =
      load.rw == "read" ? test::Args{"nbdcopy", uri, "null:"} : test::Args{"nbdcopy", disks.source(), uri};
  const Clock::time_point start = Clock::now();
  test::check(argv, {.timeout_seconds = 600});
  return {static_cast<double>(disks.data_bytes()), std::chrono::duration<double>(Clock::now() - start).count()};
}

// Sixteen processes, a connection each, eight requests in flight on every one.
Moved run_fio(const Load& load, const std::string& uri, double seconds) {
  const std::string report =
      test::check({"fio", "--name=load", "--ioengine=nbd", "--uri=" + uri, "--rw=" + load.rw,
                   "--bs=" + load.block_bytes, "--numjobs=16", "--iodepth=8", "--time_based",
                   "--runtime=" + std::to_string(static_cast<int>(seconds * 1000)) + "ms", "--norandommap",
                   "--randrepeat=0", "--group_reporting", "--output-format=json"},
                  {.timeout_seconds = 600});
  const nlohmann::json job = nlohmann::json::parse(report.substr(report.find('{'))).at("jobs").at(0);
  const nlohmann::json& direction = job.at(load.rw.ends_with("read") ? "read" : "write");
  return {direction.at("io_bytes").get<double>(), direction.at("runtime").get<double>() / 1000};
}

}  // namespace

std::vector<Load> all_loads() {
  return {{"nbdcopy read", "nbdcopy", "read", ""},      {"nbdcopy write", "nbdcopy", "write", ""},
          {"fio randread 4k", "fio", "randread", "4k"}, {"fio randwrite 4k", "fio", "randwrite", "4k"},
          {"fio read 1m", "fio", "read", "1m"},         {"fio write 1m", "fio", "write", "1m"}};
}

Sample run_load(const Load& load, const ServerKind& kind, const Disks& disks, double fio_seconds) {
  const RunningServer server(kind, disks.folder());
  const double before = server.cpu_seconds();
  const Moved moved =
      load.tool == "fio" ? run_fio(load, server.uri(), fio_seconds) : run_nbdcopy(load, server.uri(), disks);
  const double cpu_seconds = server.cpu_seconds() - before;
  return {moved.bytes / moved.seconds / 1e6, cpu_seconds / (moved.bytes / 1e9), server.rss_anon_kib()};
}

}  // namespace nbdcrypt::bench
