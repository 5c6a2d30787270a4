// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "bench/accelerators/cells.h"

namespace nbdcrypt::bench {

/// What the results miss of what was set out for them, a line each: how much better than the table cipher a backend has
/// to be, and how good the table cipher has to be for that to mean anything.
std::vector<std::string> missed_goals(const std::vector<Result>& results);

}  // namespace nbdcrypt::bench
