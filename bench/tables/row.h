// SPDX-License-Identifier: Apache-2.0
//
// One line of a benchmark's result: named values in the order in which they were set. All benchmarks print the same
// shape, so that one reader (a plot, a comparison of two commits) understands every table:
//   {"machine": {...}, "rows": [{"table": "sectors", "backend": "generic", ..., "mb_per_s": 123.4}, ...]}
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace nbdcrypt::bench {

using Value = std::variant<std::string, double, std::int64_t>;
using Field = std::pair<std::string, Value>;

class Row {
 public:
  /// Sets or replaces a value; returns *this, so that calls chain.
  Row& set(std::string_view name, Value value);
  Row& set(std::string_view name, const char* text) { return set(name, Value(std::string(text))); }
  Row& set(std::string_view name, const std::string& text) { return set(name, Value(text)); }
  Row& set(std::string_view name, double number) { return set(name, Value(number)); }
  Row& set(std::string_view name, std::int64_t number) { return set(name, Value(number)); }
  Row& set(std::string_view name, std::size_t number) { return set(name, Value(static_cast<std::int64_t>(number))); }

  /// The value, or null when there is none of that name.
  const Value* find(std::string_view name) const noexcept;
  const std::vector<Field>& fields() const noexcept { return fields_; }

 private:
  std::vector<Field> fields_;
};

}  // namespace nbdcrypt::bench
