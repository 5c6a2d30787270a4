// SPDX-License-Identifier: Apache-2.0
//
// nbdcrypt-tables: how fast each AES backend encrypts sectors here. Needs base, aes and modes alone, so that it runs on
// every architecture that the library is built for.
#include <exception>
#include <iostream>

#include "aes/registry.h"
#include "bench/tables/machine.h"
#include "bench/tables/options.h"
#include "bench/tables/output.h"
#include "bench/tables/sectors.h"
#include "modes/backend_choice.h"

namespace {

using namespace nbdcrypt;

int run(const bench::Options& options) {
  const aes::Backend* named = options.backend.empty() ? nullptr : &modes::choose_backend(options.backend);
  const bench::Row machine = bench::this_machine();
  std::vector<bench::Row> rows;
  for (const aes::Backend* backend : aes::all()) {
    if (named != nullptr && backend != named) continue;
    for (bench::Row& row : bench::sector_rows(*backend, options.seconds)) rows.push_back(std::move(row));
  }
  bench::publish(options.json_file, machine, rows);
  return 0;
}

}  // namespace

int main(int argc, char** argv) try {
  const bench::Options options = bench::parse_options(argc, argv);
  if (options.help) {
    std::cout << "nbdcrypt-tables [--backend NAME] [--seconds S] [--json FILE]\n"
                 "Encrypts and decrypts sectors with every backend that runs here: one block a call (off), one sector "
                 "a call\n"
                 "(buffer), all sectors at once (batch); ratio is over off.\n"
              << bench::kOptionsHelp;
    return 0;
  }
  return run(options);
} catch (const std::exception& error) {
  std::cerr << "nbdcrypt-tables: " << error.what() << '\n';
  return 1;
}
