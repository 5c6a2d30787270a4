// SPDX-License-Identifier: Apache-2.0
//
// nbdcrypt-tables: how fast each AES backend encrypts sectors here. Needs base, aes and modes alone, so that it runs on
// every architecture that the library is built for.
#include <exception>
#include <iostream>

#include "bench/tables/options.h"
#include "bench/tables/tables.h"

namespace {

using namespace nbdcrypt;

void print_help() {
  std::cout << "nbdcrypt-tables [TABLE] [--backend NAME] [--seconds S] [--json FILE]\n"
               "Tables, for every backend that runs here or the one that is named; ratio is over one block a call:\n";
  for (const bench::Table& table : bench::tables()) std::cout << "  " << table.name << "  " << table.what << '\n';
  std::cout << bench::kOptionsHelp;
}

}  // namespace

int main(int argc, char** argv) try {
  const bench::Options options = bench::parse_options(argc, argv);
  if (options.help) {
    print_help();
    return 0;
  }
  bench::run_table(options);
  return 0;
} catch (const std::exception& error) {
  std::cerr << "nbdcrypt-tables: " << error.what() << '\n';
  return 1;
}
