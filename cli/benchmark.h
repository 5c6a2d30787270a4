// SPDX-License-Identifier: Apache-2.0
//
// The kinds of `nbdcrypt benchmark`, a file each; benchmark.cpp chooses.
#pragma once

#include "cli/command.h"

namespace nbdcrypt::cli {

/// cryptsetup's table: key derivations and ciphers in memory; with --table another one of bench/tables.
int run_cipher_benchmark(const Arguments& arguments);

/// benchmark fs.
void add_fs_benchmark_options(po::options_description& options);
int run_fs_benchmark(const Arguments& arguments);

/// benchmark nbd.
void add_nbd_benchmark_options(po::options_description& options);
int run_nbd_benchmark(const Arguments& arguments);

/// benchmark report DIR.
int run_benchmark_report(const Arguments& arguments);

}  // namespace nbdcrypt::cli
