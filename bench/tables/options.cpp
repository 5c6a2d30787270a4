// SPDX-License-Identifier: Apache-2.0
#include "bench/tables/options.h"

#include <cstdlib>
#include <stdexcept>
#include <string_view>

namespace nbdcrypt::bench {

const char* const kOptionsHelp =
    "  --backend NAME  this AES backend (nbdcrypt backends lists them)\n"
    "  --seconds S     time for each row, default 0.1\n"
    "  --json FILE     write the rows as JSON as well; \"-\": to standard output, instead of the table\n";

Options parse_options(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    if (name == "--help") {
      options.help = true;
      continue;
    }
    if (!name.starts_with('-')) {
      options.table = name;
      continue;
    }
    if (name != "--backend" && name != "--seconds" && name != "--json") {
      throw std::runtime_error("unknown option " + std::string(name));
    }
    if (++i == argc) throw std::runtime_error(std::string(name) + ": value missing");
    if (name == "--backend") options.backend = argv[i];
    if (name == "--json") options.json_file = argv[i];
    if (name == "--seconds") {
      char* end = nullptr;
      options.seconds = std::strtod(argv[i], &end);
      const bool number = end != argv[i] && *end == '\0';
      if (!number || !(options.seconds >= 0 && options.seconds <= 3600)) {
        throw std::runtime_error("--seconds " + std::string(argv[i]) + ": not a number from 0 to 3600");
      }
    }
  }
  return options;
}

}  // namespace nbdcrypt::bench
