// SPDX-License-Identifier: Apache-2.0
#include "cli/byte_size.h"

#include <fmt/format.h>

#include <boost/program_options.hpp>
#include <cctype>
#include <charconv>

namespace nbdcrypt::cli {
namespace {

constexpr std::string_view kPrefixes = "KMGT";

// What one unit of `suffix` is in bytes; 0: no such unit.
std::uint64_t unit_bytes(std::string_view suffix) noexcept {
  if (suffix.empty()) return 1;
  const char letter = static_cast<char>(std::toupper(static_cast<unsigned char>(suffix[0])));
  suffix.remove_prefix(1);
  if (letter == 'S') return suffix.empty() ? 512 : 0;
  const std::size_t power = kPrefixes.find(letter);
  if (power == std::string_view::npos || (!suffix.empty() && suffix != "iB" && suffix != "B")) return 0;
  const std::uint64_t base = suffix == "B" ? 1000 : 1024;
  std::uint64_t bytes = 1;
  for (std::size_t i = 0; i <= power; ++i) bytes *= base;
  return bytes;
}

}  // namespace

std::optional<ByteSize> parse_byte_size(std::string_view text) noexcept {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;
  const std::uint64_t unit = unit_bytes(text.substr(static_cast<std::size_t>(end - text.data())));
  std::uint64_t bytes = 0;
  if (unit == 0 || __builtin_mul_overflow(number, unit, &bytes)) return std::nullopt;
  return ByteSize{bytes};
}

std::string human_size(std::uint64_t bytes) {
  if (bytes < 1024) return fmt::format("{} bytes", bytes);
  double value = static_cast<double>(bytes) / 1024;
  std::size_t power = 0;
  for (; value >= 1024 && power + 1 < kPrefixes.size(); ++power) value /= 1024;
  return fmt::format("{:.1f} {}iB", value, kPrefixes[power]);
}

void validate(boost::any& value, const std::vector<std::string>& words, ByteSize*, int) {
  namespace po = boost::program_options;
  po::validators::check_first_occurrence(value);
  const std::string& text = po::validators::get_single_string(words);
  const std::optional<ByteSize> size = parse_byte_size(text);
  if (!size) throw po::invalid_option_value(text);
  value = *size;
}

}  // namespace nbdcrypt::cli
