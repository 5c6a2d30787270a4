// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace nbdcrypt::bench {

/// The options that all cipher benchmarks take.
struct Options {
  std::string table = "sectors";  // the word without an option, where the program has tables
  std::string backend;            // empty: see the program's help
  double seconds = 0.1;           // for each row
  std::string json_file;          // empty: none; "-": to standard output instead of the table
  bool help = false;
};

/// Throws std::runtime_error that names an unknown option, a missing value, or a number of seconds that is none.
Options parse_options(int argc, char** argv);

/// The lines of --help about these options.
extern const char* const kOptionsHelp;

}  // namespace nbdcrypt::bench
