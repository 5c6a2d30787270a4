// SPDX-License-Identifier: Apache-2.0
#include "tests/vectors/vec_file.h"

#include <cctype>
#include <charconv>
#include <fstream>
#include <stdexcept>

namespace nbdcrypt::test {
namespace {

std::string trim(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  return first == text.npos ? "" : text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

int digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const int lower = std::tolower(static_cast<unsigned char>(c));
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

}  // namespace

const VecRecord::Attribute* VecRecord::find(const std::string& name) const {
  for (const Attribute& attribute : attributes_) {
    if (attribute.name == name) return &attribute;
  }
  return nullptr;
}

bool VecRecord::has(const std::string& name) const { return find(name) != nullptr; }

const std::string& VecRecord::text(const std::string& name) const {
  const Attribute* attribute = find(name);
  if (!attribute) throw std::runtime_error(where_ + ": no attribute " + name);
  attribute->read = true;
  return attribute->value;
}

std::vector<std::uint8_t> VecRecord::bytes(const std::string& name) const {
  std::vector<std::uint8_t> result;
  bool half = false;
  for (const char c : text(name)) {
    if (c == ' ') continue;
    const int value = digit(c);
    if (value < 0) throw std::runtime_error(where_ + ": " + name + " is not hexadecimal");
    if (half) result.back() = static_cast<std::uint8_t>(result.back() << 4 | value);
    if (!half) result.push_back(static_cast<std::uint8_t>(value));
    half = !half;
  }
  if (half) throw std::runtime_error(where_ + ": " + name + " has an odd number of digits");
  return result;
}

std::uint64_t VecRecord::number(const std::string& name) const {
  const std::string& value = text(name);
  std::uint64_t result = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), result);
  if (error != std::errc() || end != value.data() + value.size()) {
    throw std::runtime_error(where_ + ": " + name + " is not a number");
  }
  return result;
}

class VecParser {
 public:
  VecParser(const std::string& path, const std::function<void(const VecRecord&)>& visit) : path_(path), visit_(visit) {}

  std::size_t run(std::istream& text) {
    for (std::string line; std::getline(text, line);) {
      line_++;
      take(line);
    }
    finish();
    if (records_ == 0) throw std::runtime_error(path_ + ": no records");
    return records_;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const { throw std::runtime_error(where() + ": " + what); }
  std::string where() const { return path_ + ":" + std::to_string(line_); }

  void take(const std::string& line) {
    const std::string content = trim(line);
    if (content.empty()) return finish();
    if (content.front() == '#') return;
    if (line.front() == ' ') return go_on(content);
    if (content.front() == '[') return open_section(content);
    add(content);
  }

  void go_on(const std::string& content) {
    if (record_.attributes_.empty()) fail("nothing to go on with");
    record_.attributes_.back().value += " " + content;
  }

  void open_section(const std::string& content) {
    if (content.back() != ']') fail("section without ]");
    finish();
    section_ = content.substr(1, content.size() - 2);
  }

  void add(const std::string& content) {
    const std::size_t equals = content.find('=');
    if (equals == content.npos) fail("neither [section] nor Name = value");
    const std::string name = trim(content.substr(0, equals));
    if (record_.has(name)) fail(name + " is there twice");
    if (record_.attributes_.empty()) record_.where_ = where();
    record_.attributes_.push_back({name, trim(content.substr(equals + 1))});
  }

  void finish() {
    if (record_.attributes_.empty()) return;
    record_.section_ = section_;
    visit_(record_);
    for (const VecRecord::Attribute& attribute : record_.attributes_) {
      if (!attribute.read) throw std::runtime_error(record_.where_ + ": " + attribute.name + " was not read");
    }
    record_ = {};
    records_++;
  }

  std::string path_;
  const std::function<void(const VecRecord&)>& visit_;
  std::string section_;
  VecRecord record_;
  std::size_t line_ = 0, records_ = 0;
};

std::size_t for_each_record(std::istream& text, const std::string& name,
                            const std::function<void(const VecRecord&)>& visit) {
  return VecParser(name, visit).run(text);
}

std::size_t for_each_record(const std::string& path, const std::function<void(const VecRecord&)>& visit) {
  const std::string whole = path.starts_with('/') ? path : std::string(NBDCRYPT_VECTORS) + "/" + path;
  std::ifstream file(whole);
  if (!file) throw std::runtime_error(whole + ": cannot be read");
  return for_each_record(file, whole, visit);
}

}  // namespace nbdcrypt::test
