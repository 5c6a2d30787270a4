// SPDX-License-Identifier: Apache-2.0
//
// The backends of this build in order of preference. Tests, fuzzers and benchmarks walk the same list as the product.
// The list itself is written by CMake (add_aes_backend), so no source here knows an architecture.
#pragma once

#include <span>
#include <string_view>

#include "aes/backend.h"

namespace nbdcrypt::aes {

/// Every backend of this build, best first; also those that this processor cannot run.
std::span<const Backend* const> built() noexcept;

/// True when this processor has what the backend needs and the user did not mask it.
bool runs_here(const Backend& backend) noexcept;

/// The backends that run here, best first. Never empty: `generic` needs nothing.
std::span<const Backend* const> all() noexcept;

/// The first of all() that may be chosen without being named.
const Backend& best() noexcept;

/// The backend of that name among all(), or null.
const Backend* by_name(std::string_view name) noexcept;

}  // namespace nbdcrypt::aes
