// SPDX-License-Identifier: Apache-2.0
//
// Grouped bars by gnuplot: a group for each phase that moves data, a bar for each column as percent of the first one,
// with the percentage on it. Bars differ by their pattern, so that they can be told apart in black and white.
#pragma once

#include <string>

#include "bench/fs/summary.h"

namespace nbdcrypt::bench::fs {

enum class Picture { svg, png };
/// By the ending of the file's name. Throws base::Error{usage} for another one.
Picture picture_of(const std::string& file);

/// What gnuplot(1) is to do; it draws to `file`.
std::string plot_script(const Grid& grid, const std::string& title, Picture picture, const std::string& file);

}  // namespace nbdcrypt::bench::fs
