// SPDX-License-Identifier: Apache-2.0
#include "bench/tables/tables.h"

#include <stdexcept>

#include "aes/registry.h"
#include "bench/tables/machine.h"
#include "bench/tables/output.h"
#include "bench/tables/sectors.h"
#include "modes/backend_choice.h"

namespace nbdcrypt::bench {

const std::vector<Table>& tables() {
  static const std::vector<Table> all = {
      {"sectors", "sectors of a volume, one block, one sector and one batch a call", sector_rows}};
  return all;
}

const Table& table_named(const std::string& name) {
  std::string known;
  for (const Table& table : tables()) {
    if (name == table.name) return table;
    known.append(known.empty() ? "" : ", ").append(table.name);
  }
  throw std::runtime_error("table " + name + ": unknown, expected " + known);
}

std::vector<const aes::Backend*> chosen_backends(const std::string& name) {
  if (name.empty() || name == "all") return {aes::all().begin(), aes::all().end()};
  return {&modes::choose_backend(name)};
}

void run_table(const Options& options) {
  const Table& table = table_named(options.table);
  const Row machine = this_machine();
  std::vector<Row> rows;
  for (const aes::Backend* backend : chosen_backends(options.backend)) {
    for (Row& row : table.rows(*backend, options.seconds)) rows.push_back(std::move(row));
  }
  publish(options.json_file, machine, rows);
}

}  // namespace nbdcrypt::bench
