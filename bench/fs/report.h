// SPDX-License-Identifier: Apache-2.0
//
// All results of a folder on one HTML page that needs nothing else: tables as they are, file system benchmarks with
// their plots inline.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/fs/summary.h"

namespace nbdcrypt::bench::fs {

struct Result {
  std::string name;  // of its file
  Row machine;
  std::vector<Row> rows;
};

/// Reads {"machine": {}, "rows": [{}]}. Throws base::Error{format} naming the file when it is something else.
Result read_result(const std::string& path);

/// All *.json of a folder, sorted by name. Throws base::Error{device} when there is none.
std::vector<Result> read_results(const std::string& folder);

/// Draws a grid; returns the text of the SVG file.
using Draw = std::function<std::string(const Grid&, const std::string& title)>;

std::string html_report(const std::vector<Result>& results, const Draw& draw);

}  // namespace nbdcrypt::bench::fs
