// SPDX-License-Identifier: Apache-2.0
#include "aes/registry.h"

#include <algorithm>
#include <vector>

#include "aes/cpu.h"

namespace nbdcrypt::aes {

bool runs_here(const Backend& backend) noexcept { return (backend.needs & ~cpu::features()) == 0; }

std::span<const Backend* const> all() noexcept {
  static const std::vector<const Backend*> able = [] {
    std::vector<const Backend*> list;
    for (const Backend* backend : built()) {
      if (runs_here(*backend)) list.push_back(backend);
    }
    return list;
  }();
  return able;
}

const Backend& best() noexcept {
  const auto able = all();
  return **std::find_if(able.begin(), able.end(), [](const Backend* backend) { return !backend->by_name_only; });
}

const Backend* by_name(std::string_view name) noexcept {
  for (const Backend* backend : all()) {
    if (backend->name == name) return backend;
  }
  return nullptr;
}

}  // namespace nbdcrypt::aes
