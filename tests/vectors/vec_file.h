// SPDX-License-Identifier: Apache-2.0
//
// Known-answer files: `[section]` lines, and records of `Name = value` lines that a blank line ends. A line that begins
// with a space goes on with the value before it; `#` begins a comment line. A record whose attributes were not all read
// is an error, so a misspelt name or a forgotten check cannot pass unnoticed.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

namespace nbdcrypt::test {

class VecRecord {
 public:
  const std::string& section() const { return section_; }
  /// "file:line" of its first attribute, for messages.
  const std::string& where() const { return where_; }

  bool has(const std::string& name) const;
  /// The value as it stands. Throws std::runtime_error when the record has no such attribute.
  const std::string& text(const std::string& name) const;
  /// The value as hexadecimal digits, spaces between them ignored. Throws also when it is not.
  std::vector<std::uint8_t> bytes(const std::string& name) const;
  /// The value as a decimal number. Throws also when it is not.
  std::uint64_t number(const std::string& name) const;

 private:
  friend class VecParser;
  struct Attribute {
    std::string name, value;
    mutable bool read = false;
  };
  const Attribute* find(const std::string& name) const;

  std::string section_, where_;
  std::vector<Attribute> attributes_;
};

/// Calls `visit` for every record of the file. A relative path is looked up in tests/vectors. Returns how many there
/// were. Throws std::runtime_error "file:line: ..." when the file cannot be read, holds no record or a line of no known
/// form, a record names an attribute twice, or `visit` did not read each of its attributes.
std::size_t for_each_record(const std::string& path, const std::function<void(const VecRecord&)>& visit);
/// The same for the text of a file; `name`: what it is called in messages.
std::size_t for_each_record(std::istream& text, const std::string& name,
                            const std::function<void(const VecRecord&)>& visit);

}  // namespace nbdcrypt::test
