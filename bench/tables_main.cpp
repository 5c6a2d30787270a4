// SPDX-License-Identifier: Apache-2.0
//
// nbdcrypt-tables: how fast each AES backend encrypts sectors here. Needs base, aes and modes alone, so that it runs on
// every architecture that the library is built for.
#include <exception>
#include <iostream>

#include "bench/tables/machine.h"
#include "bench/tables/options.h"
#include "bench/tables/output.h"
#include "bench/tables/tables.h"

namespace {

using namespace nbdcrypt;

int run(const bench::Options& options) {
  const bench::Table& table = bench::table_named(options.table.empty() ? "sectors" : options.table);
  const bench::Row machine = bench::this_machine();
  bench::publish(options.json_file, machine, table.rows(options.backend, options.seconds));
  return 0;
}

void help() {
  std::cout << "nbdcrypt-tables [--table NAME] [--backend NAME] [--seconds S] [--json FILE]\n"
               "How fast the backends that run here are; ratio is over one block at a time (off). Tables:\n";
  for (const bench::Table& table : bench::all_tables())
    std::cout << "  " << table.name << ": " << table.summary << '\n';
  std::cout << "  --table NAME    which one, default sectors\n" << bench::kOptionsHelp;
}

}  // namespace

int main(int argc, char** argv) try {
  const bench::Options options = bench::parse_options(argc, argv);
  if (options.help) {
    help();
    return 0;
  }
  return run(options);
} catch (const std::exception& error) {
  std::cerr << "nbdcrypt-tables: " << error.what() << '\n';
  return 1;
}
