// SPDX-License-Identifier: Apache-2.0
#include "bench/tables/output.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <stdexcept>

namespace nbdcrypt::bench {
namespace {

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(c));
      out += escape;
    } else {
      out += c;
    }
  }
  return out + '"';
}

// Three to four significant digits: no measurement here is better than that.
std::string rounded(double number) {
  char text[64];
  const int digits = std::fabs(number) >= 100 ? 0 : std::fabs(number) >= 10 ? 1 : 3;
  std::snprintf(text, sizeof text, "%.*f", digits, number);
  return text;
}

struct ForJson {
  std::string operator()(const std::string& text) const { return quoted(text); }
  std::string operator()(double number) const { return std::isfinite(number) ? rounded(number) : "null"; }
  std::string operator()(std::int64_t number) const { return std::to_string(number); }
};

struct ForPeople {
  std::string operator()(const std::string& text) const { return text; }
  std::string operator()(double number) const { return std::isfinite(number) ? rounded(number) : "-"; }
  std::string operator()(std::int64_t number) const { return std::to_string(number); }
};

std::string object(const Row& row) {
  std::string out = "{";
  for (const auto& [name, value] : row.fields()) {
    if (out.size() > 1) out += ", ";
    out += quoted(name) + ": " + std::visit(ForJson{}, value);
  }
  return out + "}";
}

std::string cell(const Row& row, const std::string& column) {
  const Value* value = row.find(column);
  return value ? std::visit(ForPeople{}, *value) : "-";
}

std::vector<std::string> columns_of(const std::vector<Row>& rows) {
  std::vector<std::string> columns;
  for (const Row& row : rows) {
    for (const Field& field : row.fields()) {
      if (std::find(columns.begin(), columns.end(), field.first) == columns.end()) columns.push_back(field.first);
    }
  }
  return columns;
}

bool is_number(const Row& row, const std::string& column) {
  const Value* value = row.find(column);
  return value != nullptr && !std::holds_alternative<std::string>(*value);
}

void write_columns(std::ostream& out, const std::vector<Row>& rows, const std::vector<std::string>& columns) {
  std::vector<std::size_t> widths;
  for (const std::string& column : columns) {
    std::size_t width = column.size();
    for (const Row& row : rows) width = std::max(width, cell(row, column).size());
    widths.push_back(width);
  }
  const auto put = [&](std::size_t i, const std::string& text, bool right) {
    const std::string padding(widths[i] - text.size(), ' ');
    out << (i ? "  " : "") << (right ? padding + text : text + padding);
  };
  for (std::size_t i = 0; i < columns.size(); ++i) put(i, columns[i], is_number(rows.front(), columns[i]));
  out << '\n';
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < columns.size(); ++i) put(i, cell(row, columns[i]), is_number(rows.front(), columns[i]));
    out << '\n';
  }
}

}  // namespace

void write_json(std::ostream& out, const Row& machine, const std::vector<Row>& rows) {
  out << "{\"machine\": " << object(machine) << ",\n \"rows\": [";
  for (std::size_t i = 0; i < rows.size(); ++i) out << (i ? ",\n  " : "\n  ") << object(rows[i]);
  out << "\n ]}\n";
}

void write_text(std::ostream& out, const Row& machine, const std::vector<Row>& rows) {
  for (const Field& field : machine.fields()) out << field.first << ": " << cell(machine, field.first) << '\n';
  if (rows.empty()) return;
  std::vector<std::string> varying;
  for (const std::string& column : columns_of(rows)) {
    const std::string first = cell(rows.front(), column);
    const bool same = std::all_of(rows.begin(), rows.end(), [&](const Row& row) { return cell(row, column) == first; });
    if (same && rows.size() > 1) {
      out << column << ": " << first << '\n';
    } else {
      varying.push_back(column);
    }
  }
  out << '\n';
  write_columns(out, rows, varying);
}

void save_json(const std::string& json_file, const Row& machine, const std::vector<Row>& rows) {
  if (json_file == "-") return write_json(std::cout, machine, rows);
  std::ofstream file(json_file);
  write_json(file, machine, rows);
  file.close();
  if (!file) throw std::runtime_error(json_file + ": cannot be written");
}

void publish(const std::string& json_file, const Row& machine, const std::vector<Row>& rows) {
  if (json_file != "-") write_text(std::cout, machine, rows);
  if (!json_file.empty()) save_json(json_file, machine, rows);
}

}  // namespace nbdcrypt::bench
