// SPDX-License-Identifier: Apache-2.0
//
// What differs between architectures: what functions are called with, and what an instruction does to a state.
#pragma once

#include <vector>

#include "tests/constant_time/disassembly/state.h"
#include "tests/constant_time/disassembly/taint.h"

namespace nbdcrypt::disassembly {

/// The state at the entry of an operation, whose second argument is a Run or a pointer to data.
State enter_x86(bool takes_run);
State enter_arm(bool takes_run);
State enter_power(bool takes_run);

/// Carries the state over an instruction, and reports what depends on a secret and must not.
void step_x86(const Instruction& instruction, State& state, bool counter_mode, std::vector<Report>& reports);
void step_arm(const Instruction& instruction, State& state, bool counter_mode, std::vector<Report>& reports);
void step_power(const Instruction& instruction, State& state, bool counter_mode, std::vector<Report>& reports);

}  // namespace nbdcrypt::disassembly
