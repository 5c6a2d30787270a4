// SPDX-License-Identifier: Apache-2.0
//
// nbdcrypt-tables: what each AES backend costs here. Needs base, aes and modes alone, so that it runs on every
// architecture that the library is built for.
#include <exception>
#include <iostream>

#include "bench/tables/options.h"
#include "bench/tables/selftest.h"
#include "bench/tables/tables.h"

namespace {

using namespace nbdcrypt;

void print_help() {
  std::cout
      << "nbdcrypt-tables [TABLE] [--backend NAME|all] [--seconds S] [--json FILE] [--plot FILE] [--counts FILE]\n"
         "nbdcrypt-tables --selftest [--backend NAME|all]\n"
         "Tables, for every backend that runs here or the one that is named:\n";
  for (const bench::Table& table : bench::tables()) {
    std::cout << "  " << table.name << std::string(10 - std::string(table.name).size(), ' ') << table.what << '\n';
  }
  std::cout << bench::kOptionsHelp;
}

}  // namespace

int main(int argc, char** argv) try {
  const bench::Options options = bench::parse_options(argc, argv);
  if (options.help) return print_help(), 0;
  if (options.selftest) return bench::run_selftest(options.backend) ? 0 : 1;
  bench::run_table(options);
  return 0;
} catch (const std::exception& error) {
  std::cerr << "nbdcrypt-tables: " << error.what() << '\n';
  return 1;
}
