// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace nbdcrypt::test {

/// How often the calling thread has called operator new, which this program replaces to count it.
long allocations() noexcept;

}  // namespace nbdcrypt::test
