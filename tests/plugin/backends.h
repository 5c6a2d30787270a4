// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace nbdcrypt::test {

/// The names of the backends that run on this machine, from `nbdkit --dump-plugin`.
std::vector<std::string> backends();

}  // namespace nbdcrypt::test
