// SPDX-License-Identifier: Apache-2.0
//
// Results for people and for programs. No library behind it: it has to build wherever the cipher tables do.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "bench/tables/row.h"

namespace nbdcrypt::bench {

/// {"machine": {...}, "rows": [...]}, one row a line. Numbers that are not finite are written as null (RFC 8259,
/// section 6).
void write_json(std::ostream& out, const Row& machine, const std::vector<Row>& rows);

/// An aligned table with one column per name that occurs in any row, in the order of first occurrence. Columns that
/// have the same value in every row are written above it instead.
void write_text(std::ostream& out, const Row& machine, const std::vector<Row>& rows);

/// The JSON to a file, to standard output when that is "-". Throws std::runtime_error when it cannot be written.
void save_json(const std::string& json_file, const Row& machine, const std::vector<Row>& rows);

/// The table to standard output; with `json_file` also the JSON to that file, or to standard output instead of the
/// table when it is "-". Throws std::runtime_error when the file cannot be written.
void publish(const std::string& json_file, const Row& machine, const std::vector<Row>& rows);

}  // namespace nbdcrypt::bench
