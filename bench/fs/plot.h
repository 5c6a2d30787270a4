// SPDX-License-Identifier: Apache-2.0
//
// Bars by gnuplot: those of a cipher table, and for file systems a group for each phase that moves data, a bar for each
// column as percent of the first one, with the percentage on it. Bars differ by their pattern, so that they can be told
// apart in black and white.
#pragma once

#include <string>

#include "bench/fs/summary.h"
#include "bench/tables/plot.h"

namespace nbdcrypt::bench::fs {

enum class Picture { svg, png };
/// By the ending of the file's name. Throws base::Error{usage} for another one.
Picture picture_of(const std::string& file);

/// What gnuplot(1) is to do; it draws to `file`.
std::string plot_script(const Grid& grid, const std::string& title, Picture picture, const std::string& file);

/// The bars of a cipher table, one below the other, as PNG.
std::string bars_script(const std::vector<Bar>& bars, const std::string& title, const std::string& file);

}  // namespace nbdcrypt::bench::fs
