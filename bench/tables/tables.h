// SPDX-License-Identifier: Apache-2.0
//
// The list of cipher tables, which nbdcrypt-tables and nbdcrypt benchmark share. A new table is a line in tables.cpp.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "bench/tables/row.h"

namespace nbdcrypt::bench {

struct Table {
  const char* name;     // of --table, and of the rows' field "table"
  const char* summary;  // one line, for people
  /// `backend`: empty for all that run here. `seconds`: for each row. Throws for an unknown backend.
  std::vector<Row> (*rows)(const std::string& backend, double seconds);
};

std::span<const Table> all_tables();

/// Throws std::runtime_error that lists the names.
const Table& table_named(const std::string& name);

}  // namespace nbdcrypt::bench
