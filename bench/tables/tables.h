// SPDX-License-Identifier: Apache-2.0
//
// The cipher tables by name, for every program that prints them.
#pragma once

#include <string>
#include <vector>

#include "aes/backend.h"
#include "bench/tables/meter.h"
#include "bench/tables/options.h"
#include "bench/tables/row.h"

namespace nbdcrypt::bench {

struct Table {
  const char* name;
  const char* what;    // one line for --help
  const char* figure;  // the column that a plot shows
  std::vector<Row> (*rows)(const aes::Backend&, const Meter&);
};

/// sectors, tcrypt, slope, blocks, packets.
const std::vector<Table>& tables();

/// Throws std::runtime_error that lists the known ones.
const Table& table_named(const std::string& name);

/// "all" or nothing: every backend that runs here; else the one of that name.
std::vector<const aes::Backend*> chosen_backends(const std::string& name);

struct Measured {
  Row machine;
  std::vector<Row> rows;
  std::string figure;  // what a plot shows
};
/// The table that the options name, of the backends that they name.
Measured measure_table(const Options& options);

/// What all of nbdcrypt-tables does: measures, prints, writes JSON and plot.
void run_table(const Options& options);

/// Speed-up over the table cipher for messages of 16 to 8192 bytes in ECB, CBC, CTR and XTS: tcrypt's cells.
std::vector<Row> tcrypt_rows(const aes::Backend& backend, const Meter& meter);
/// Cost of a byte in all ten modes, by linear regression over message sizes, so that set-up cost drops out.
std::vector<Row> slope_rows(const aes::Backend& backend, const Meter& meter);
/// The same 16 KiB block again and again, ECB and CBC: how many KB in how many seconds.
std::vector<Row> blocks_rows(const aes::Backend& backend, const Meter& meter);
/// The cipher part of a VPN gateway: AES-256-CBC over packets, over the table cipher.
std::vector<Row> packets_rows(const aes::Backend& backend, const Meter& meter);

/// Straight line y = a + b x by least squares; needs two different x.
struct Line {
  double at_zero, slope;
};
Line fit_line(const std::vector<double>& x, const std::vector<double>& y);

}  // namespace nbdcrypt::bench
