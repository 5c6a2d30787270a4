// SPDX-License-Identifier: Apache-2.0
#include "bench/fs/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace nbdcrypt::bench::fs {
namespace {

using base::Error;
using base::Kind;
using nlohmann::ordered_json;

constexpr const char* kHead =
    "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>nbdcrypt benchmarks</title>\n"
    "<link rel=\"icon\" href=\"data:,\">\n<style>\n"
    "body { font: 15px/1.4 sans-serif; max-width: 75em; margin: 2em auto; padding: 0 1em; color: #111; }\n"
    "table { border-collapse: collapse; margin: 1em 0; font-variant-numeric: tabular-nums; font-size: 13px; }\n"
    "th, td { padding: .2em .7em; border-bottom: 1px solid #bbb; text-align: right; white-space: nowrap; }\n"
    "th:first-child, td:first-child { text-align: left; }\n"
    "figure { margin: 1em 0; overflow-x: auto; } .wide { overflow-x: auto; } dl { columns: 2; }\n"
    "dt { float: left; clear: left; margin-right: .5em; color: #555; }\n"
    "</style>\n</head>\n<body>\n<h1>nbdcrypt benchmarks</h1>\n";

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

struct Shown {
  std::string operator()(const std::string& text) const { return escaped(text); }
  std::string operator()(double number) const { return std::isfinite(number) ? fmt::format("{:.4g}", number) : "-"; }
  std::string operator()(std::int64_t number) const { return std::to_string(number); }
};

Row row_from(const ordered_json& object) {
  Row row;
  for (const auto& [name, value] : object.items()) {
    if (value.is_string())
      row.set(name, value.get<std::string>());
    else if (value.is_number_integer())
      row.set(name, value.get<std::int64_t>());
    else
      row.set(name, value.is_null() ? std::nan("") : value.get<double>());
  }
  return row;
}

bool is_of_fs(const Result& result) {
  const Value* table = result.rows.empty() ? nullptr : result.rows.front().find("table");
  return table != nullptr && *table == Value(std::string("fs"));
}

// A file of its own begins with things that do not belong inside a page.
std::string inline_svg(const std::string& svg) {
  const std::size_t at = svg.find("<svg");
  if (at == std::string::npos) throw Error(Kind::format, "gnuplot: what it drew is no SVG");
  return svg.substr(at);
}

std::string html_cell(const Grid::Cell& cell) {
  if (!std::isfinite(cell.value)) return std::isfinite(cell.ratio) ? fmt::format("{:.0f} %", cell.ratio * 100) : "-";
  return fmt::format("{:.0f} ({:.0f} %){}", cell.value, cell.ratio * 100,
                     std::isfinite(cell.cpu) ? fmt::format(", {:.2f} s/GB", cell.cpu) : "");
}

std::string html_grid(const Grid& grid) {
  std::string out = "<div class=\"wide\"><table>\n<tr><th></th>";
  for (const std::string& column : grid.columns) out += "<th>" + escaped(column) + "</th>";
  out += "</tr>\n";
  const bool relative = grid.only_ratios();
  for (const Grid::Line& line : grid.lines) {
    out += "<tr><td>" + escaped(line.title) + (relative ? "" : line.data ? ", kB/s" : ", per second") + "</td>";
    for (const Grid::Cell& cell : line.cells) out += "<td>" + html_cell(cell) + "</td>";
    out += "</tr>\n";
  }
  out += "</table></div>\n";
  if (relative) return out + "<p>" + kEmulationNotice + "</p>\n";
  return out + "<p>In parentheses: of the first column. s/GB: processor time of the server.</p>\n";
}

std::string html_rows(const std::vector<Row>& rows) {
  std::vector<std::string> names;
  for (const Row& row : rows) {
    for (const Field& field : row.fields()) {
      if (std::find(names.begin(), names.end(), field.first) == names.end()) names.push_back(field.first);
    }
  }
  std::string out = "<div class=\"wide\"><table>\n<tr>";
  for (const std::string& name : names) out += "<th>" + escaped(name) + "</th>";
  out += "</tr>\n";
  for (const Row& row : rows) {
    out += "<tr>";
    for (const std::string& name : names) {
      const Value* value = row.find(name);
      out += "<td>" + (value == nullptr ? "-" : std::visit(Shown{}, *value)) + "</td>";
    }
    out += "</tr>\n";
  }
  return out + "</table></div>\n";
}

std::string html_machine(const Row& machine) {
  std::string out = "<dl>\n";
  for (const auto& [name, value] : machine.fields()) {
    if (value == Value(std::string())) continue;
    out += "<dt>" + escaped(name) + "</dt><dd>" + std::visit(Shown{}, value) + "</dd>\n";
  }
  return out + "</dl>\n";
}

}  // namespace

Result read_result(const std::string& path) {
  try {
    std::ifstream file(path);
    const ordered_json json = ordered_json::parse(file);
    Result result{std::filesystem::path(path).filename(), row_from(json.at("machine")), {}};
    for (const ordered_json& row : json.at("rows")) result.rows.push_back(row_from(row));
    return result;
  } catch (const ordered_json::exception& error) {
    throw Error(Kind::format, path + ": not a benchmark's result: " + error.what());
  }
}

std::vector<Result> read_results(const std::string& folder) {
  std::error_code error;
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".json") paths.push_back(entry.path());
  }
  if (error) base::throw_open_error(folder, error.value());
  if (paths.empty()) throw Error(Kind::device, folder + ": no results (*.json) in it");
  std::sort(paths.begin(), paths.end());
  std::vector<Result> results;
  for (const std::string& path : paths) results.push_back(read_result(path));
  return results;
}

std::string html_report(const std::vector<Result>& results, const Draw& draw) {
  std::string page = kHead;
  for (const Result& result : results) {
    page += "<h2>" + escaped(result.name) + "</h2>\n" + html_machine(result.machine);
    if (!is_of_fs(result)) {
      page += html_rows(result.rows);
      continue;
    }
    const Grid grid = grid_of(result.rows);
    page += "<figure>" + inline_svg(draw(grid, result.name)) + "</figure>\n" + html_grid(grid);
  }
  return page + "</body>\n</html>\n";
}

}  // namespace nbdcrypt::bench::fs
