// SPDX-License-Identifier: Apache-2.0
#include "aes/cpu.h"

#include <cstdlib>

namespace nbdcrypt::aes::cpu {
namespace {

/// A feature, its name, and what it builds on: without `needs` it is of no use, so masking `aesni` masks `vaes` too.
struct Entry {
  std::string_view name;
  Feature feature;
  std::uint64_t needs;
};

// One table for all architectures; an entry comes after those that it needs.
constexpr Entry kTable[] = {
    {"ssse3", ssse3, 0},      {"sse41", sse41, ssse3}, {"aesni", aesni, 0},         {"pclmul", pclmul, 0},
    {"avx", avx, sse41},      {"avx2", avx2, avx},     {"vaes", vaes, aesni | avx}, {"vpclmul", vpclmul, pclmul | avx},
    {"avx512", avx512, avx2}, {"ace", ace, 0},         {"ace2", ace2, ace},         {"spe", spe, 0},
    {"vcrypto", vcrypto, 0},  {"armaes", armaes, 0},   {"pmull", pmull, 0},
};
constexpr std::string_view kNames =
    "ssse3, sse41, aesni, pclmul, avx, avx2, vaes, vpclmul, avx512, ace, ace2, spe, vcrypto, armaes, pmull";

constexpr bool names_match_table() {
  std::string_view rest = kNames;
  for (const Entry& entry : kTable) {
    if (!rest.starts_with(entry.name)) return false;
    rest.remove_prefix(entry.name.size());
    if (rest.starts_with(", ")) rest.remove_prefix(2);
  }
  return rest.empty();
}
static_assert(names_match_table());

std::string_view trim(std::string_view text) noexcept {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

std::uint64_t feature_named(std::string_view name) noexcept {
  for (const Entry& entry : kTable) {
    if (entry.name == name) return entry.feature;
  }
  return 0;
}

/// `features` and all that build on them.
std::uint64_t with_dependents(std::uint64_t features) noexcept {
  for (const Entry& entry : kTable) {
    if (entry.needs & features) features |= entry.feature;
  }
  return features;
}

}  // namespace

std::string_view known_names() noexcept { return kNames; }

Mask parse_mask(std::string_view names) noexcept {
  Mask mask;
  while (!names.empty()) {
    const std::size_t comma = names.find(',');
    const std::string_view name = trim(names.substr(0, comma));
    names = comma == names.npos ? std::string_view{} : names.substr(comma + 1);
    if (name.empty()) continue;
    const std::uint64_t feature = feature_named(name);
    if (feature == 0 && mask.unknown.empty()) mask.unknown = name;
    mask.features |= feature;
  }
  mask.features = with_dependents(mask.features);
  return mask;
}

const Mask& disabled() noexcept {
  static const Mask mask = [] {
    const char* names = std::getenv("NBDCRYPT_DISABLE_CPU");
    return parse_mask(names ? names : "");
  }();
  return mask;
}

std::uint64_t features() noexcept {
  static const std::uint64_t mask = detect() & ~disabled().features;
  return mask;
}

}  // namespace nbdcrypt::aes::cpu
