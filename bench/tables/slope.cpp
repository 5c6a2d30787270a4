// SPDX-License-Identifier: Apache-2.0
#include "bench/tables/mode_work.h"
#include "bench/tables/tables.h"
#include "bench/tables/timing.h"

namespace nbdcrypt::bench {
namespace {

constexpr std::size_t kSteps = 16, kStepBytes = kMessageBytes / kSteps;
constexpr std::size_t kKeyBits = 128;

}  // namespace

Line fit_line(const std::vector<double>& x, const std::vector<double>& y) {
  const double n = static_cast<double>(x.size());
  double sx = 0, sy = 0, sxx = 0, sxy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    sx += x[i], sy += y[i];
    sxx += x[i] * x[i], sxy += x[i] * y[i];
  }
  const double slope = (n * sxy - sx * sy) / (n * sxx - sx * sx);
  return {(sy - slope * sx) / n, slope};
}

std::vector<Row> slope_rows(const aes::Backend& backend, const Meter& meter) {
  std::vector<Row> rows;
  for (const ModeCell& cell : mode_cells(kKeyBits)) {
    const Pass pass = make_pass(cell, backend);
    std::vector<double> sizes, costs;
    for (std::size_t bytes = kStepBytes; bytes <= kMessageBytes; bytes += kStepBytes) {
      sizes.push_back(static_cast<double>(bytes));
      costs.push_back(meter.least_cost([&] { pass(bytes); }, meter.seconds() / kSteps));
    }
    const Line line = fit_line(sizes, costs);
    Row row = cell.row("slope", "nbdcrypt", backend.name);
    meter.describe(row, line.slope);
    rows.push_back(row.set("setup", line.at_zero));
  }
  return rows;
}

std::vector<Row> blocks_rows(const aes::Backend& backend, const Meter& meter) {
  std::vector<Row> rows;
  for (const char* mode : {"ECB", "CBC"}) {
    for (const Work work : {Work::encrypt, Work::decrypt}) {
      const ModeCell cell{mode, kKeyBits, work};
      const Pass pass = make_pass(cell, backend);
      Row row = cell.row("blocks", "nbdcrypt", backend.name);
      if (meter.counts_instructions()) {
        const double instructions = meter.costs({[&] { pass(kMessageBytes); }})[0];
        rows.push_back(row.set("unit", meter.unit()).set("instructions_per_kb", instructions / (kMessageBytes / 1024)));
        continue;
      }
      const Repeated run = repeat_for([&] { pass(kMessageBytes); }, meter.seconds());
      const double kilobytes = static_cast<double>(run.passes * (kMessageBytes / 1024));
      row.set("unit", meter.unit()).set("kb", run.passes * (kMessageBytes / 1024)).set("seconds", run.seconds);
      rows.push_back(row.set("kb_per_s", kilobytes / run.seconds));
    }
  }
  return rows;
}

}  // namespace nbdcrypt::bench
