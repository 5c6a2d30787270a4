// SPDX-License-Identifier: Apache-2.0
//
// From the samples to rows, and from rows (of this run, or read from a file) to the table that people read.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "bench/fs/experiment.h"
#include "bench/tables/row.h"

namespace nbdcrypt::bench::fs {

/// One row for each phase and column, phase by phase, in the order of the columns. `common`: fields of every row.
///   load server backend offload column                  which cell
///   kb_per_s or per_second, spread                      median over the rounds; quartiles' distance over it
///   ratio, ratio_low, ratio_high                        over the first column: of medians, and the rounds' quartiles
///   server_cpu_s_per_gb, server_cpu_ratio               median; over that of the first column
///   rounds                                              how many
std::vector<Row> summarise(const std::vector<Column>& columns, const Samples& samples, const Row& common);

/// Takes out what is not relative: under emulation a second is none.
void keep_ratios(std::vector<Row>& rows);

/// The rows of one measurement as a table of phases by columns.
struct Grid {
  struct Cell {
    double value = 0, ratio = 0, spread = 0, cpu = 0, cpu_ratio = 0;  // NaN: none
  };
  struct Line {
    std::string title;
    bool data = false;        // kB/s
    std::vector<Cell> cells;  // one for each column
  };
  std::vector<std::string> columns;
  std::vector<Line> lines;
  bool only_ratios() const;  // of rows after keep_ratios()
};
Grid grid_of(const std::vector<Row>& rows);

/// What a reader of percentages alone has to know; for Grid::only_ratios().
inline constexpr const char* kEmulationNotice =
    "Under emulation: a second is none, only the percentages tell something.";

/// kB/s and percent of the first column, and below that the server's processor time.
void write_table(std::ostream& out, const Grid& grid);
/// The same figures with one line a row; RFC 4180.
void write_csv(std::ostream& out, const std::vector<Row>& rows);

}  // namespace nbdcrypt::bench::fs
