// SPDX-License-Identifier: Apache-2.0
//
// benchmark report DIR: DIR/index.html from all results in it.
#include <fmt/format.h>

#include <fstream>

#include "base/error.h"
#include "bench/fs/report.h"
#include "cli/benchmark.h"
#include "cli/benchmark_plot.h"

namespace nbdcrypt::cli {

int run_benchmark_report(const Arguments& arguments) {
  if (arguments.positional.size() != 2)
    throw base::Error(base::Kind::usage, "benchmark report: expected one folder", 0, "nbdcrypt benchmark report DIR");
  const std::string& folder = arguments.positional[1];
  require_gnuplot();
  const std::string page = bench::fs::html_report(bench::fs::read_results(folder), drawn_svg);
  const std::string path = folder + "/index.html";
  std::ofstream file(path);
  file << page;
  file.close();
  if (!file) throw base::Error(base::Kind::io, path + ": cannot be written");
  fmt::print("{}\n", path);
  return 0;
}

}  // namespace nbdcrypt::cli
