// SPDX-License-Identifier: Apache-2.0
//
// nbdcrypt-accelerators: executed instructions per byte of every backend that runs here over those of `table`, both by
// the same compiler. Has to run under an emulator with the instruction counter; bench/accelerators.sh does that.
#include <exception>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "aes/registry.h"
#include "bench/accelerators/cells.h"
#include "bench/accelerators/goals.h"
#include "bench/tables/output.h"

namespace {

using namespace nbdcrypt;

struct Options {
  std::string counts, json_file;
  bool check = false;
};

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    if (name == "--check") {
      options.check = true;
    } else if ((name == "--counts" || name == "--json") && i + 1 < argc) {
      (name == "--json" ? options.json_file : options.counts) = argv[++i];
    } else {
      throw std::runtime_error("usage: nbdcrypt-accelerators --counts FILE [--json FILE] [--check]");
    }
  }
  return options;
}

/// Ratios of the cells of chain_cells(), a line for each key size and length, a column for each mode and direction.
std::vector<bench::Row> ratio_table(const std::vector<bench::Result>& results) {
  std::vector<bench::Row> rows;
  for (const bench::Result& result : results) {
    const bench::Cell& cell = result.cell;
    const auto key_bits = static_cast<std::int64_t>(cell.key_bits), bytes = static_cast<std::int64_t>(cell.unit);
    const auto is = [&](const char* name, std::int64_t value) {
      return *rows.back().find(name) == bench::Value(value);
    };
    if (rows.empty() || !is("key", key_bits) || !is("bytes", bytes)) {
      rows.emplace_back().set("backend", result.backend->name).set("key", key_bits).set("bytes", bytes);
    }
    rows.back().set(std::string(cell.mode) + " " + cell.direction, result.ratio());
  }
  return rows;
}

int run(const Options& options) {
  const aes::Backend& baseline = *aes::by_name("table");
  bench::Counter counter(options.counts);
  std::vector<bench::Row> rows;
  std::vector<std::string> missed;
  const bench::Row compiler =
      bench::Row().set("instructions", "of table / of the backend").set("compiler", "g++ " __VERSION__);
  for (const aes::Backend* backend : aes::all()) {
    if (backend == &baseline || !backend->offload.of[aes::ecb_enc]) continue;
    std::vector<bench::Result> results = bench::count_cells(counter, *backend, baseline, bench::chain_cells());
    if (options.json_file != "-") bench::write_text(std::cout, compiler, ratio_table(results));
    for (bench::Result& result : bench::count_cells(counter, *backend, baseline, bench::other_cells())) {
      results.push_back(std::move(result));
    }
    std::vector<bench::Row> others;
    for (const bench::Result& result : results) {
      rows.push_back(result.row());
      if (result.cell.unit == 8192 || result.cell.units > 1) others.push_back(result.row());
    }
    if (options.json_file != "-") bench::write_text(std::cout, compiler, others);
    for (std::string& line : bench::missed_goals(results)) missed.push_back(std::move(line));
  }
  if (!options.json_file.empty()) {
    std::ofstream file;
    if (options.json_file != "-") file.open(options.json_file);
    std::ostream& out = options.json_file == "-" ? std::cout : file;
    bench::write_json(out, compiler, rows);
    if (!out.flush()) throw std::runtime_error(options.json_file + ": cannot be written");
  }
  for (const std::string& line : missed) std::cerr << "missed: " << line << '\n';
  return options.check && !missed.empty() ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) try { return run(parse(argc, argv)); } catch (const std::exception& error) {
  std::cerr << "nbdcrypt-accelerators: " << error.what() << '\n';
  return 1;
}
