// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace nbdcrypt::bench {

/// Every known answer of every mode on every backend that runs here (or the one of that name), at each offload level,
/// as tcrypt's mode 10 does. The figures are in the program. Prints a line for each backend. False when one is wrong.
bool run_selftest(const std::string& backend);

}  // namespace nbdcrypt::bench
