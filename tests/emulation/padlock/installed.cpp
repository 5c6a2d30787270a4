// SPDX-License-Identifier: Apache-2.0
//
// A program or a preloaded library with this in it has a PadLock from its start.
#include "tests/emulation/padlock/silicon.h"

namespace nbdcrypt::test::padlock {
namespace {

[[maybe_unused]] const bool installed = (install(), true);

}  // namespace
}  // namespace nbdcrypt::test::padlock
