// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "bench/fs/plot.h"
#include "bench/tables/tables.h"

namespace nbdcrypt::cli {

/// Throws Error{device} with a hint when gnuplot(1) is not installed; before anything long is begun.
void require_gnuplot();

/// Draws to `file`, whose ending says how.
void draw_plot(const bench::fs::Grid& grid, const std::string& title, const std::string& file);
/// The bars of a cipher table; gnuplot is needed for a .png alone.
void draw_table(const bench::Measured& measured, const std::string& title, const std::string& file);

/// The text of an SVG.
std::string drawn_svg(const bench::fs::Grid& grid, const std::string& title);

}  // namespace nbdcrypt::cli
