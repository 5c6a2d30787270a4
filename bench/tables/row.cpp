// SPDX-License-Identifier: Apache-2.0
#include "bench/tables/row.h"

#include <algorithm>

namespace nbdcrypt::bench {

Row& Row::set(std::string_view name, Value value) {
  const auto same =
      std::find_if(fields_.begin(), fields_.end(), [&](const Field& field) { return field.first == name; });
  if (same != fields_.end()) {
    same->second = std::move(value);
  } else {
    fields_.emplace_back(name, std::move(value));
  }
  return *this;
}

const Value* Row::find(std::string_view name) const noexcept {
  for (const Field& field : fields_) {
    if (field.first == name) return &field.second;
  }
  return nullptr;
}

}  // namespace nbdcrypt::bench
