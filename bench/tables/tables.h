// SPDX-License-Identifier: Apache-2.0
//
// The cipher tables by name, for every program that prints them.
#pragma once

#include <string>
#include <vector>

#include "aes/backend.h"
#include "bench/tables/options.h"
#include "bench/tables/row.h"

namespace nbdcrypt::bench {

struct Table {
  const char* name;
  const char* what;  // one line for --help
  std::vector<Row> (*rows)(const aes::Backend&, double seconds);
};

const std::vector<Table>& tables();

/// Throws std::runtime_error that lists the known ones.
const Table& table_named(const std::string& name);

/// "all" or nothing: every backend that runs here; else the one of that name.
std::vector<const aes::Backend*> chosen_backends(const std::string& name);

/// What all of nbdcrypt-tables does: measures, prints, writes JSON.
void run_table(const Options& options);

}  // namespace nbdcrypt::bench
