// SPDX-License-Identifier: Apache-2.0
#include "bench/fs/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <ostream>

#include "bench/tables/timing.h"

namespace nbdcrypt::bench::fs {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

struct Key {
  Phase phase;
  double Sample::*figure;
};

// One figure a round, in their order; NaN in a round without.
std::vector<double> figures(const std::vector<std::vector<Sample>>& rounds, const Key& key) {
  std::vector<double> values;
  for (const std::vector<Sample>& samples : rounds) {
    const auto of_phase =
        std::find_if(samples.begin(), samples.end(), [&](const Sample& sample) { return sample.phase == key.phase; });
    values.push_back(of_phase == samples.end() ? kUnknown : (*of_phase).*key.figure);
  }
  return values;
}

std::vector<double> known(std::vector<double> values) {
  std::erase_if(values, [](double value) { return !std::isfinite(value); });
  std::sort(values.begin(), values.end());
  return values;
}

double median(const std::vector<double>& sorted) {
  return sorted.empty() ? kUnknown : bench::summarise(sorted).mb_per_s;
}

Row row_of(Phase phase, const Column& column, const Row& common) {
  const char* servers[] = {"nbdkit file", "nbdcrypt", "nbdkit luks filter", "qemu-nbd luks", "dm-crypt"};
  Row row = common;
  row.set("load", key_of(phase)).set("column", column.name).set("server", servers[static_cast<int>(column.server)]);
  if (column.server != Column::Server::nbdcrypt) return row;

  return row.set("backend", column.backend.empty() ? "best" : column.backend)
      .set("offload", modes::name_of(column.offload));
}

void add_ratios(Row& row, const std::vector<double>& own, const std::vector<double>& first) {
  std::vector<double> ratios;
  for (std::size_t round = 0; round < own.size(); ++round) ratios.push_back(own[round] / first[round]);
  ratios = known(ratios);
  row.set("ratio", median(known(own)) / median(known(first)));
  if (ratios.empty()) return;
  row.set("ratio_low", ratios[(ratios.size() - 1) / 4]).set("ratio_high", ratios[(ratios.size() - 1) * 3 / 4]);
}

double number(const Row& row, std::string_view name) {
  const Value* value = row.find(name);
  if (value == nullptr) return kUnknown;
  if (const auto* real = std::get_if<double>(value)) return *real;
  if (const auto* whole = std::get_if<std::int64_t>(value)) return static_cast<double>(*whole);
  return kUnknown;
}

std::string text(const Row& row, std::string_view name) {
  const Value* value = row.find(name);
  const auto* words = value == nullptr ? nullptr : std::get_if<std::string>(value);
  return words == nullptr ? std::string() : *words;
}

std::string title_of_key(const std::string& key) {
  for (const Phase phase : kPhases) {
    if (key == key_of(phase)) return title_of(phase);
  }
  return key;
}

using CellText = std::string (*)(const Grid::Cell&);

std::string percent(double ratio, int digits) {
  return std::isfinite(ratio) ? fmt::format("{:.{}f} %", ratio * 100, digits) : "-";
}
std::string rate(const Grid::Cell& cell) {
  if (!std::isfinite(cell.value)) return "-";
  return fmt::format("{:.0f} ({})", cell.value, percent(cell.ratio, 0));
}
std::string ratio(const Grid::Cell& cell) { return percent(cell.ratio, 0); }
std::string cpu(const Grid::Cell& cell) { return std::isfinite(cell.cpu) ? fmt::format("{:.2f}", cell.cpu) : "-"; }
std::string cpu_ratio(const Grid::Cell& cell) { return percent(cell.cpu_ratio, 0); }
std::string spread(const Grid::Cell& cell) { return percent(cell.spread, 1); }

constexpr std::size_t kTitleColumns = 24;

void write_part(std::ostream& out, const Grid& grid, const char* separator, const std::string& heading,
                CellText text_of, bool data) {
  const auto is_told = [&](const Grid::Line& line) {
    return line.data == data && std::any_of(line.cells.begin(), line.cells.end(),
                                            [&](const Grid::Cell& cell) { return text_of(cell) != "-"; });
  };
  if (std::none_of(grid.lines.begin(), grid.lines.end(), is_told)) return;
  out << separator;
  std::vector<std::size_t> widths;
  for (std::size_t c = 0; c < grid.columns.size(); ++c) {
    std::size_t width = grid.columns[c].size();
    for (const Grid::Line& line : grid.lines) width = std::max(width, text_of(line.cells[c]).size());
    widths.push_back(width);
  }
  out << fmt::format("{:<{}}", heading, kTitleColumns);
  for (std::size_t c = 0; c < widths.size(); ++c) out << fmt::format("  {:>{}}", grid.columns[c], widths[c]);
  out << '\n';
  for (const Grid::Line& line : grid.lines) {
    if (line.data != data) continue;
    out << fmt::format("{:<{}}", line.title, kTitleColumns);
    for (std::size_t c = 0; c < widths.size(); ++c) out << fmt::format("  {:>{}}", text_of(line.cells[c]), widths[c]);
    out << '\n';
  }
}

std::string csv_cell(const Value& value) {
  if (const auto* real = std::get_if<double>(&value)) return std::isfinite(*real) ? fmt::format("{}", *real) : "";
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return std::to_string(*whole);
  std::string quoted = "\"";
  for (const char c : std::get<std::string>(value)) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + '"';
}

}  // namespace

std::vector<Row> summarise(const std::vector<Column>& columns, const Samples& samples, const Row& common) {
  std::vector<Row> rows;
  for (const Phase phase : kPhases) {
    const Key rates{phase, &Sample::per_second}, times{phase, &Sample::cpu_seconds_per_gb};
    const std::vector<double> first = figures(samples.front(), rates);
    for (std::size_t c = 0; c < columns.size(); ++c) {
      const std::vector<double> own = figures(samples[c], rates);
      if (known(own).empty()) continue;
      const Measurement measured = bench::summarise(known(own));
      Row row = row_of(phase, columns[c], common);
      row.set(moves_data(phase) ? "kb_per_s" : "per_second", measured.mb_per_s).set("spread", measured.spread);
      add_ratios(row, own, first);
      if (moves_data(phase)) {
        const double cpu = median(known(figures(samples[c], times)));
        row.set("server_cpu_s_per_gb", cpu);
        row.set("server_cpu_ratio", cpu / median(known(figures(samples.front(), times))));
      }
      rows.push_back(row.set("rounds", measured.runs));
    }
  }
  return rows;
}

void keep_ratios(std::vector<Row>& rows) {
  for (Row& row : rows) {
    for (const char* absolute : {"kb_per_s", "per_second", "server_cpu_s_per_gb"}) {
      if (row.find(absolute) != nullptr) row.set(absolute, kUnknown);
    }
  }
}

bool Grid::only_ratios() const {
  bool any = false;
  for (const Line& line : lines) {
    for (const Cell& cell : line.cells) {
      if (std::isfinite(cell.value)) return false;
      any = any || std::isfinite(cell.ratio);
    }
  }
  return any;
}

Grid grid_of(const std::vector<Row>& rows) {
  Grid grid;
  for (const Row& row : rows) {
    if (std::find(grid.columns.begin(), grid.columns.end(), text(row, "column")) == grid.columns.end())
      grid.columns.push_back(text(row, "column"));
  }
  for (const Row& row : rows) {
    const std::string title = title_of_key(text(row, "load"));
    auto line = std::find_if(grid.lines.begin(), grid.lines.end(),
                             [&](const Grid::Line& known_line) { return known_line.title == title; });
    const bool data = row.find("kb_per_s") != nullptr;
    if (line == grid.lines.end()) {
      const Grid::Cell none{kUnknown, kUnknown, kUnknown, kUnknown, kUnknown};
      grid.lines.push_back({title, data, std::vector<Grid::Cell>(grid.columns.size(), none)});
      line = std::prev(grid.lines.end());
    }
    const auto column = std::find(grid.columns.begin(), grid.columns.end(), text(row, "column"));
    line->cells[static_cast<std::size_t>(column - grid.columns.begin())] = {
        number(row, data ? "kb_per_s" : "per_second"), number(row, "ratio"),
        number(row, "rounds") > 1 ? number(row, "spread") : kUnknown, number(row, "server_cpu_s_per_gb"),
        number(row, "server_cpu_ratio")};
  }
  return grid;
}

void write_table(std::ostream& out, const Grid& grid) {
  if (grid.only_ratios()) {
    out << kEmulationNotice << "\n\n";
    write_part(out, grid, "", "rate, of the first", ratio, true);
    write_part(out, grid, "\n", "per second", ratio, false);
    write_part(out, grid, "\n", "server CPU, of the first", cpu_ratio, true);
    write_part(out, grid, "\n", "spread of the rate", spread, true);
    return;
  }
  write_part(out, grid, "", "kB/s (of the first)", rate, true);
  write_part(out, grid, "\n", "per second", rate, false);
  write_part(out, grid, "\n", "server CPU, s per GB", cpu, true);
  write_part(out, grid, "\n", "spread of kB/s", spread, true);
}

void write_csv(std::ostream& out, const std::vector<Row>& rows) {
  std::vector<std::string> names;
  for (const Row& row : rows) {
    for (const Field& field : row.fields()) {
      if (std::find(names.begin(), names.end(), field.first) == names.end()) names.push_back(field.first);
    }
  }
  out << fmt::format("{}\r\n", fmt::join(names, ","));
  for (const Row& row : rows) {
    std::vector<std::string> cells;
    for (const std::string& name : names) {
      const Value* value = row.find(name);
      cells.push_back(value == nullptr ? "" : csv_cell(*value));
    }
    out << fmt::format("{}\r\n", fmt::join(cells, ","));
  }
}

}  // namespace nbdcrypt::bench::fs
