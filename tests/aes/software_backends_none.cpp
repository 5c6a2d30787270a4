// SPDX-License-Identifier: Apache-2.0
#include "tests/aes/software_backends.h"

namespace nbdcrypt::test {

std::span<const aes::Backend* const> software_backends() { return {}; }

}  // namespace nbdcrypt::test
