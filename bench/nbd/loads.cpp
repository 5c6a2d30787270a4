// SPDX-License-Identifier: Apache-2.0
#include "bench/nbd/loads.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "bench/tables/timing.h"

namespace nbdcrypt::bench::nbd {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// summarise() does not mind what its values are.
double median(const std::vector<double>& values) { return summarise(values).mb_per_s; }

}  // namespace

std::vector<Load> loads(const std::vector<unsigned>& connections, bool with_fio) {
  std::vector<Load> all;
  for (const unsigned n : connections) {
    const auto depth = [n](unsigned in_flight) { return std::max(1u, in_flight / n); };
    all.push_back({"nbdcopy read", "read", "", n});
    all.push_back({"nbdcopy write", "write", "", n});
    if (!with_fio) continue;
    all.push_back({"fio read 1m", "read", "1m", n, depth(16)});
    all.push_back({"fio write 1m", "write", "1m", n, depth(16)});
    all.push_back({"fio randread 4k", "randread", "4k", n, depth(32)});
    all.push_back({"fio randwrite 4k", "randwrite", "4k", n, depth(32)});
  }
  return all;
}

std::vector<std::string> words(const Load& load, const std::string& uri, const std::string& source, double seconds) {
  if (load.copies()) {
    const std::string connections = "--connections=" + std::to_string(load.connections);
    if (load.rw == "read") return {"nbdcopy", connections, uri, "null:"};
    return {"nbdcopy", connections, source, uri};
  }
  return {"fio",
          "--name=load",
          "--ioengine=nbd",
          "--uri=" + uri,
          "--rw=" + load.rw,
          "--bs=" + load.block,
          "--numjobs=" + std::to_string(load.connections),
          "--iodepth=" + std::to_string(load.depth),
          "--time_based",
          "--runtime=" + std::to_string(std::lround(seconds * 1000)) + "ms",
          "--norandommap",
          "--randrepeat=0",
          "--group_reporting",
          "--output-format=json"};
}

Moved fio_result(const Load& load, const std::string& output) {
  try {
    const nlohmann::json job = nlohmann::json::parse(output.substr(output.find('{'))).at("jobs").at(0);
    const nlohmann::json& direction = job.at(load.rw.ends_with("read") ? "read" : "write");
    return {direction.at("io_bytes").get<double>(), direction.at("runtime").get<double>() / 1000};
  } catch (const std::exception& error) {
    throw base::Error(base::Kind::format, std::string("fio: its output is not understood: ") + error.what());
  }
}

// The k-th smallest and the k-th largest of n values enclose the median unless fewer than k of them lie on one side of
// it: binomial with p = 1/2. The largest k for which that is unlikely enough.
Interval median_interval(const std::vector<double>& sorted) {
  constexpr double kMissEachSide = 0.05;
  const std::size_t n = sorted.size();
  double chance = std::pow(0.5, static_cast<double>(n)), missed = 0;
  std::size_t k = 0;
  while (k < n / 2 && missed + chance <= kMissEachSide) {
    missed += chance;
    chance *= static_cast<double>(n - k) / static_cast<double>(k + 1);
    ++k;
  }
  return k == 0 ? Interval{kNaN, kNaN} : Interval{sorted[k - 1], sorted[n - k]};
}

Row summary(const Load& load, const std::vector<Sample>& samples, const std::vector<Sample>& plain) {
  std::vector<double> throughput, ratios, cpu;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    throughput.push_back(samples[i].mb_per_s);
    ratios.push_back(samples[i].mb_per_s / plain[i].mb_per_s);
    cpu.push_back(samples[i].cpu_seconds_per_gb);
  }
  std::sort(ratios.begin(), ratios.end());
  const Measurement measured = summarise(throughput);
  const Interval interval = median_interval(ratios);
  Row row;
  row.set("load", load.name).set("connections", std::size_t{load.connections}).set("mb_per_s", measured.mb_per_s);
  row.set("spread", measured.spread).set("ratio", median(ratios));
  row.set("ratio_low", interval.low).set("ratio_high", interval.high);
  return row.set("server_cpu_s_per_gb", median(cpu));
}

}  // namespace nbdcrypt::bench::nbd
