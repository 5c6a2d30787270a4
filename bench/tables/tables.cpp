// SPDX-License-Identifier: Apache-2.0
#include "bench/tables/tables.h"

#include <stdexcept>

#include "aes/registry.h"
#include "bench/tables/machine.h"
#include "bench/tables/output.h"
#include "bench/tables/plot.h"
#include "bench/tables/sectors.h"
#include "modes/backend_choice.h"

namespace nbdcrypt::bench {
namespace {

std::vector<Row> sectors_table(const aes::Backend& backend, const Meter& meter) {
  if (meter.counts_instructions()) throw std::runtime_error("sectors: knows no unit but time");
  return sector_rows(backend, meter.seconds());
}

}  // namespace

const std::vector<Table>& tables() {
  static const std::vector<Table> all = {
      {"sectors", "sectors of a volume, one block, one sector and one batch a call", "mb_per_s", sectors_table},
      {"tcrypt", "speed-up over the table cipher for short and long messages", "cbc_dec", tcrypt_rows},
      {"slope", "cost of a byte in all ten modes, set-up cost apart", "mib_per_s", slope_rows},
      {"blocks", "the same 16 KiB block again and again, ECB and CBC", "kb_per_s", blocks_rows},
      {"packets", "AES-256-CBC over packets of a VPN, speed-up over the table cipher", "ratio", packets_rows}};
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

Measured measure_table(const Options& options) {
  const Table& table = table_named(options.table);
  const Meter meter(options.counts_file, options.seconds);
  Measured measured{this_machine(), {}, table.figure};
  if (meter.counts_instructions()) {
    measured.machine.set("unit", "guest instructions, counted by the emulator");
    if (table.rows == slope_rows) measured.figure = "instructions_per_byte";
  }
  for (const aes::Backend* backend : chosen_backends(options.backend)) {
    for (Row& row : table.rows(*backend, meter)) measured.rows.push_back(std::move(row));
  }
  return measured;
}

void run_table(const Options& options) {
  const Measured measured = measure_table(options);
  publish(options.json_file, measured.machine, measured.rows);
  if (!options.plot_file.empty()) save_svg(options.plot_file, measured.rows, measured.figure);
}

}  // namespace nbdcrypt::bench
