// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bench/tables/row.h"

namespace nbdcrypt::bench {

/// What a figure must be read with: processor, number of processors, kernel, machine type, compiler, the features
/// that NBDCRYPT_DISABLE_CPU masks, the measured clock, and the load before the first measurement; "emulated_by" when
/// the processor is one of QEMU's.
Row this_machine();

/// True for a machine whose figures are only good for ratios.
bool is_emulated(const Row& machine);

}  // namespace nbdcrypt::bench
