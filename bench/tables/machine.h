// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bench/tables/row.h"

namespace nbdcrypt::bench {

/// What a figure must be read with: processor, number of processors, kernel, machine type, compiler, the features
/// that NBDCRYPT_DISABLE_CPU masks, the measured clock, and the load before the first measurement.
Row this_machine();

}  // namespace nbdcrypt::bench
