// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "bench/tables/row.h"

namespace nbdcrypt::bench {

struct Bar {
  std::string label;
  double value;
};
/// A bar for each row that has the number `figure`, labelled by the fields before it that are not the same in all rows.
std::vector<Bar> bars_of(const std::vector<Row>& rows, const std::string& figure);

/// Those bars as an SVG image that needs nothing else.
void write_svg(std::ostream& out, const std::vector<Row>& rows, const std::string& figure);
/// To a file. Throws Error{io}.
void save_svg(const std::string& file, const std::vector<Row>& rows, const std::string& figure);

}  // namespace nbdcrypt::bench
