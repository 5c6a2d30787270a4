// SPDX-License-Identifier: Apache-2.0
#include "bench/fs/plot.h"

#include <fmt/format.h>

#include <cmath>

#include "base/error.h"

namespace nbdcrypt::bench::fs {
namespace {

// In single quotes gnuplot knows one escape, the doubled quote.
std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("''") : std::string(1, c == '\n' ? ' ' : c);
  return out + "'";
}

// Within a data block strings are in double quotes, without escapes.
std::string word(std::string text) {
  for (char& c : text) {
    if (c == '"' || c == '\n') c = ' ';
  }
  return '"' + text + '"';
}

struct Shade {
  const char* colour;
  int pattern;
};
constexpr Shade kShades[] = {{"#333333", 3}, {"#b03a2e", 4}, {"#d68910", 5}, {"#1a5276", 2},
                             {"#1e8449", 6}, {"#7d3c98", 7}, {"#5d6d7e", 1}, {"#a04000", 8}};

}  // namespace

Picture picture_of(const std::string& file) {
  if (file.ends_with(".svg")) return Picture::svg;
  if (file.ends_with(".png")) return Picture::png;
  throw base::Error(base::Kind::usage, file + ": a plot is a .svg or a .png");
}

std::string plot_script(const Grid& grid, const std::string& title, Picture picture, const std::string& file) {
  std::string script = "$data << END\n";
  std::size_t groups = 0;
  std::string names;
  for (const Grid::Line& line : grid.lines) {
    if (!line.data) continue;
    names += fmt::format("{}{} {}", groups == 0 ? "" : ", ", quoted(line.title), groups);
    ++groups;
    script += word(line.title);
    for (const Grid::Cell& cell : line.cells)
      script += std::isfinite(cell.ratio) ? fmt::format(" {:.1f}", cell.ratio * 100) : " NaN";
    script += '\n';
  }
  const std::size_t columns = grid.columns.size();
  script += "END\n";
  script += fmt::format("set terminal {} size {},520 noenhanced font 'sans,12'\nset output {}\n",
                        picture == Picture::svg ? "svg" : "png", 120 + groups * (columns * 34 + 40), quoted(file));
  script += fmt::format(
      "set title {}\nset ylabel '% of {}'\nset yrange [0:*]\nset offsets 0,0,12,0\nset grid ytics\nset key outside "
      "bottom center horizontal\n"
      "set style fill pattern border -1\nset xtics scale 0 ({})\nset xrange [-0.6:{}]\n",
      quoted(title), columns == 0 ? "" : grid.columns.front(), names, static_cast<double>(groups) - 0.4);
  // Boxes at places of our own, as labels on a clustered histogram would need the same places once more.
  const double width = 0.8 / static_cast<double>(columns + 1);
  script += fmt::format("set boxwidth {:.4f}\nplot ", width);
  for (std::size_t c = 0; c < columns; ++c) {
    const Shade& shade = kShades[c % std::size(kShades)];
    const double shift = (static_cast<double>(c) - static_cast<double>(columns - 1) / 2) * width;
    script += fmt::format(
        "{}$data using ($0+{:.4f}):{} with boxes fillstyle pattern {} linecolor rgb '{}' title {}, \\\n"
        "$data using ($0+{:.4f}):{}:(sprintf('%.0f', ${})) with labels offset 0,0.6 font 'sans,10' notitle",
        c == 0 ? "" : ", \\\n", shift, c + 2, shade.pattern, shade.colour, quoted(grid.columns[c]), shift, c + 2,
        c + 2);
  }
  return script + "\n";
}

std::string bars_script(const std::vector<Bar>& bars, const std::string& title, const std::string& file) {
  std::string script = "$data << END\n";
  for (const Bar& bar : bars) script += fmt::format("{} {:.4g}\n", word(bar.label), bar.value);
  script += "END\n";
  script += fmt::format("set terminal png size 940,{} noenhanced font 'sans,10'\nset output {}\n",
                        100 + 20 * bars.size(), quoted(file));
  script += fmt::format(
      "set title {}\nset xrange [0:*]\nset offsets graph 0,0.1,0,0\nset yrange [{}:-1] noextend\nset ytics scale 0\n"
      "set grid xtics\nset style fill solid 0.6 border -1\nunset key\n"
      "plot $data using 2:0:(0):2:($0-0.4):($0+0.4):yticlabels(1) with boxxyerror linecolor rgb '#4477aa', \\\n"
      "$data using 2:0:(sprintf('%.4g', $2)) with labels left offset 0.5,0\n",
      quoted(title), bars.size());
  return script;
}

}  // namespace nbdcrypt::bench::fs
