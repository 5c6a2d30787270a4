// SPDX-License-Identifier: Apache-2.0
//
// nbdcrypt benchmark [fs | nbd | report DIR]: what encryption costs here, in memory, over NBD and in a file system.
#include "cli/benchmark.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "cli/add_options.h"

namespace nbdcrypt::cli {
namespace {

using base::Error;
using base::Kind;

struct Benchmark {
  const char* name;  // "": none given
  int (*run)(const Arguments&);
  std::vector<const char*> options;  // what it heeds, next to those of all commands
};

const std::vector<Benchmark>& benchmarks() {
  static const std::vector<Benchmark> kAll = {
      {"", run_cipher_benchmark, {"table", "backend", "seconds", "json", "cipher", "key-size", "plot", "peers"}},
      {"fs",
       run_fs_benchmark,
       {"backend", "seconds", "json", "cipher", "key-size", "fstype", "file-size", "files", "runs", "sector-size",
        "peers", "image", "dir", "raw", "tool", "csv", "plot", "attach", "runtime-dir"}},
      {"nbd",
       run_nbd_benchmark,
       {"backend", "seconds", "json", "cipher", "key-size", "sector-size", "file-size", "runs", "dir", "connections",
        "threads", "evict", "plot", "runtime-dir"}},
      {"report", run_benchmark_report, {}}};
  return kAll;
}

void add_options(po::options_description& options) {
  add_value<std::string>(options, "table", "NAME", "a table of the ciphers in memory; \"list\" lists them");
  add_value<std::string>(options, "backend", "NAME[,NAME...]",
                         "the AES implementation; --table: or all, the default; fs: a column for each further one");
  add_value<double>(options, "seconds", "S", "time for each row, or at most for each phase");
  add_value<std::string>(options, "json", "FILE", "write the rows as JSON; -: to standard output, without the table");
  add_value<std::string>(options, "cipher,c", "SPEC", "default aes-xts-plain64; without a name: this one alone");
  add_value<std::uint32_t>(options, "key-size,s", "BITS", "of the volume key; XTS: of both its halves");
  add_fs_benchmark_options(options);
  add_nbd_benchmark_options(options);
}

bool is_given(const Arguments& arguments, const std::string& option) {
  const po::variable_value& value = arguments.options[option];
  return !value.empty() && !value.defaulted();
}

// What is not heeded is refused.
void refuse_options_of_others(const Arguments& arguments, const Benchmark& chosen) {
  for (const Benchmark& other : benchmarks()) {
    for (const char* option : other.options) {
      const auto is_same = [&](const char* own) { return std::string(own) == option; };
      if (!is_given(arguments, option) || std::any_of(chosen.options.begin(), chosen.options.end(), is_same)) continue;
      throw Error(Kind::usage, fmt::format("benchmark{}{}: option --{} is not one of this benchmark's",
                                           *chosen.name ? " " : "", chosen.name, option));
    }
  }
}

int run(const Arguments& arguments) {
  const std::string name = arguments.positional.empty() ? "" : arguments.positional.front();
  for (const Benchmark& benchmark : benchmarks()) {
    if (name != benchmark.name) continue;
    if (name != "report" && arguments.positional.size() > 1)
      throw Error(Kind::usage, "benchmark " + name + ": too many arguments");
    refuse_options_of_others(arguments, benchmark);
    return benchmark.run(arguments);
  }
  throw Error(Kind::usage, "unknown benchmark " + name + ", expected fs, nbd, report or none");
}

}  // namespace

Command benchmark_command() {
  return {"benchmark",
          {},
          "[fs | nbd | report DIR]",
          "measure ciphers in memory, servers, or encryption under a file system",
          0,
          2,
          add_options,
          run};
}

}  // namespace nbdcrypt::cli
