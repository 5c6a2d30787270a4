// SPDX-License-Identifier: Apache-2.0
//
// nbdcrypt-nbd: our server against nbdkit's luks filter, QEMU's luks driver and nbdkit's plain file plugin, over Unix
// sockets and files in memory. The servers take turns in every round, each freshly started; the figures are medians.
// `ratio` is over the plain server's throughput with the same load.
#include <algorithm>
#include <boost/program_options.hpp>
#include <exception>
#include <iostream>

#include "bench/nbd/loads.h"
#include "bench/tables/machine.h"
#include "bench/tables/output.h"
#include "bench/tables/timing.h"

namespace {

using namespace nbdcrypt;
namespace po = boost::program_options;

struct Plan {
  std::uint64_t size_mib;
  int rounds;
  double seconds;
  std::string json_file;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

bench::Row summary(const bench::Load& load, const bench::ServerKind& kind, const std::vector<bench::Sample>& samples) {
  std::vector<double> throughput, cpu, rss;
  for (const bench::Sample& sample : samples) {
    throughput.push_back(sample.mb_per_s);
    cpu.push_back(sample.cpu_seconds_per_gb);
    rss.push_back(static_cast<double>(sample.rss_anon_kib));
  }
  const bench::Measurement measured = bench::summarise(throughput);
  bench::Row row;
  row.set("table", "nbd").set("load", load.name).set("library", kind.name).set("mb_per_s", measured.mb_per_s);
  row.set("spread", measured.spread).set("rounds", measured.runs).set("cpu_s_per_gb", median(cpu));
  return row.set("rss_anon_kib", static_cast<std::int64_t>(median(rss)));
}

std::vector<bench::Row> rows_of_load(const bench::Load& load, const std::vector<bench::ServerKind>& kinds,
                                     const bench::Disks& disks, const Plan& plan) {
  std::vector<std::vector<bench::Sample>> samples(kinds.size());
  for (int round = 0; round < plan.rounds; ++round) {
    for (std::size_t i = 0; i < kinds.size(); ++i) {
      const std::size_t turn = (i + static_cast<std::size_t>(round)) % kinds.size();
      samples[turn].push_back(bench::run_load(load, kinds[turn], disks, plan.seconds));
    }
  }
  std::vector<bench::Row> rows;
  double plain_mb_per_s = 0;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    rows.push_back(summary(load, kinds[i], samples[i]));
    const double mb_per_s = std::get<double>(*rows.back().find("mb_per_s"));
    if (kinds[i].plain) plain_mb_per_s = mb_per_s;
    rows.back().set("ratio", mb_per_s / plain_mb_per_s);
  }
  return rows;
}

int run(const Plan& plan) {
  bench::Row machine = bench::this_machine();
  machine.set("data_mib", static_cast<std::int64_t>(plan.size_mib))
      .set("cipher", "aes-xts-plain64, 512-bit key, LUKS1");
  const bench::Disks disks(plan.size_mib << 20);
  std::vector<bench::Row> rows;
  for (const bench::Load& load : bench::all_loads()) {
    std::cerr << load.name << " ...\n";
    for (bench::Row& row : rows_of_load(load, disks.servers(), disks, plan)) rows.push_back(std::move(row));
  }
  bench::publish(plan.json_file, machine, rows);
  return 0;
}

}  // namespace

int main(int argc, char** argv) try {
  Plan plan{};
  po::options_description options("nbdcrypt-nbd: throughput over NBD, against others and against no encryption");
  auto add = options.add_options();
  add("help", "this text");
  add("size", po::value(&plan.size_mib)->default_value(1024), "MiB of data");
  add("rounds", po::value(&plan.rounds)->default_value(5), "how often each server takes its turn");
  add("seconds", po::value(&plan.seconds)->default_value(2), "how long fio runs each time");
  add("json", po::value(&plan.json_file)->default_value(""), "file for the rows as JSON; \"-\": instead of the table");
  po::variables_map given;
  po::store(po::parse_command_line(argc, argv, options), given);
  po::notify(given);
  if (given.count("help")) {
    std::cout << options;
    return 0;
  }
  if (plan.rounds < 1 || plan.size_mib < 1) throw std::runtime_error("--rounds and --size: at least 1");
  return run(plan);
} catch (const std::exception& error) {
  std::cerr << "nbdcrypt-nbd: " << error.what() << '\n';
  return 1;
}
