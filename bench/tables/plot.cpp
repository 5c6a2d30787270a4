// SPDX-License-Identifier: Apache-2.0
#include "bench/tables/plot.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>

#include "base/error.h"

namespace nbdcrypt::bench {
namespace {

constexpr int kBarHeight = 16, kStep = 20, kLabelWidth = 330, kPlotWidth = 520, kTop = 40;

std::string text_of(const Value& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return std::to_string(*whole);
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", std::get<double>(value));
  return text;
}

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else
      out += c;
  }
  return out;
}

bool is_label(const std::vector<Row>& rows, const Field& field) {
  if (std::holds_alternative<double>(field.second)) return false;
  return std::ranges::any_of(rows, [&](const Row& row) {
    const Value* const value = row.find(field.first);
    return value == nullptr || *value != field.second;
  });
}

std::string label_of(const std::vector<Row>& rows, const Row& row, const std::string& figure) {
  std::string label;
  for (const Field& field : row.fields()) {
    if (field.first == figure) break;
    if (is_label(rows, field)) label.append(label.empty() ? "" : " ").append(text_of(field.second));
  }
  return label;
}

}  // namespace

std::vector<Bar> bars_of(const std::vector<Row>& rows, const std::string& figure) {
  std::vector<Bar> bars;
  for (const Row& row : rows) {
    const Value* const value = row.find(figure);
    const double* const number = value ? std::get_if<double>(value) : nullptr;
    if (number && std::isfinite(*number)) bars.push_back({label_of(rows, row, figure), *number});
  }
  return bars;
}

void write_svg(std::ostream& out, const std::vector<Row>& rows, const std::string& figure) {
  const std::vector<Bar> bars = bars_of(rows, figure);
  double most = 1e-9;
  for (const Bar& bar : bars) most = std::max(most, bar.value);
  const int height = kTop + kStep * static_cast<int>(bars.size()) + 10, width = kLabelWidth + kPlotWidth + 90;
  out << "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" << width << "\" height=\"" << height
      << "\" font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
      << "<text x=\"10\" y=\"24\" font-size=\"16\">" << escaped(figure) << "</text>\n";
  for (std::size_t i = 0; i < bars.size(); ++i) {
    const int y = kTop + kStep * static_cast<int>(i), text_y = y + kBarHeight - 4;
    const int length = static_cast<int>(bars[i].value / most * kPlotWidth);
    out << "<text x=\"" << kLabelWidth - 8 << "\" y=\"" << text_y << "\" text-anchor=\"end\">" << escaped(bars[i].label)
        << "</text><rect x=\"" << kLabelWidth << "\" y=\"" << y << "\" width=\"" << length << "\" height=\""
        << kBarHeight << "\" fill=\"#4477aa\"/><text x=\"" << kLabelWidth + length + 6 << "\" y=\"" << text_y << "\">"
        << text_of(Value(bars[i].value)) << "</text>\n";
  }
  out << "</svg>\n";
}

void save_svg(const std::string& file, const std::vector<Row>& rows, const std::string& figure) {
  std::ofstream svg(file);
  write_svg(svg, rows, figure);
  svg.close();
  if (!svg) throw base::Error(base::Kind::io, file + ": cannot be written");
}

}  // namespace nbdcrypt::bench
