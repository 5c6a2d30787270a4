// SPDX-License-Identifier: Apache-2.0
#include "bench/accelerators/goals.h"

#include <sys/utsname.h>

#include <algorithm>
#include <sstream>
#include <string_view>

namespace nbdcrypt::bench {
namespace {

constexpr std::size_t kLong = 8192, kShort = 16;

bool is_serial(const Cell& cell) {
  const bool chained = cell.op == aes::cbc_enc || cell.op == aes::cfb_enc || cell.op == aes::ofb;
  return chained && cell.units == 1;
}

/// 0: none.
double least_ratio(const Result& result) {
  const Cell& cell = result.cell;
  const std::string_view backend = result.backend->name;
  if (backend == "ppc-spe") {
    if (cell.unit == kShort) return 1.14;
    return cell.unit != kLong ? 0 : std::string_view(cell.mode) == "ecb" ? 1.5 : 1.55;
  }
  if (backend == "power8-vcrypto" || backend == "armv8-ce") {
    return cell.unit < kLong && cell.units == 1 ? 0 : is_serial(cell) ? 4 : 8;
  }
  return 0;
}

/// Instructions per byte of the table cipher, ECB encryption with 128 bits.
double most_of_the_table() {
  utsname system{};
  uname(&system);
  return std::string_view(system.machine) == "aarch64" ? 46 : 50;
}

std::string text_of(const Result& result, const char* what, double is, const char* bound, double expected) {
  const Cell& cell = result.cell;
  std::ostringstream text;
  text << result.backend->name << " " << cell.mode << " " << cell.direction << " " << cell.key_bits << " bits, "
       << cell.units << " x " << cell.unit << " bytes: " << what << " " << is << ", " << bound << " " << expected;
  return text.str();
}

}  // namespace

std::vector<std::string> missed_goals(const std::vector<Result>& results) {
  std::vector<std::string> missed;
  const auto is_reference = [](const Result& result) {
    return result.cell == Cell{aes::ecb_enc, result.cell.mode, result.cell.direction, 128, kLong, 1};
  };
  const auto reference = std::find_if(results.begin(), results.end(), is_reference);
  for (const Result& result : results) {
    if (result.ratio() < least_ratio(result)) {
      missed.push_back(text_of(result, "ratio", result.ratio(), "at least", least_ratio(result)));
    }
    if (reference == results.end() || result.cell.key_bits != 128 || result.cell.unit != kLong) continue;
    const double most = is_reference(result) ? most_of_the_table() : reference->baseline_per_byte * 1.2;
    if (result.baseline_per_byte > most) {
      missed.push_back(text_of(result, "instructions per byte of table", result.baseline_per_byte, "at most", most));
    }
  }
  return missed;
}

}  // namespace nbdcrypt::bench
