// SPDX-License-Identifier: Apache-2.0
#include "bench/tables/tables.h"

#include <stdexcept>

#include "aes/registry.h"
#include "bench/tables/sectors.h"
#include "modes/backend_choice.h"

namespace nbdcrypt::bench {
namespace {

std::vector<Row> sectors_of_all(const std::string& backend, double seconds) {
  const aes::Backend* named = backend.empty() ? nullptr : &modes::choose_backend(backend);
  std::vector<Row> rows;
  for (const aes::Backend* each : aes::all()) {
    if (named != nullptr && each != named) continue;
    for (Row& row : sector_rows(*each, seconds)) rows.push_back(std::move(row));
  }
  return rows;
}

constexpr Table kTables[] = {
    {"sectors", "sectors of a volume: one block a call (off), one sector a call (buffer), all at once (batch)",
     sectors_of_all},
};

}  // namespace

std::span<const Table> all_tables() { return kTables; }

const Table& table_named(const std::string& name) {
  std::string known;
  for (const Table& table : kTables) {
    if (name == table.name) return table;
    known += known.empty() ? table.name : std::string(", ") + table.name;
  }
  throw std::runtime_error("--table " + name + ": expected " + known);
}

}  // namespace nbdcrypt::bench
