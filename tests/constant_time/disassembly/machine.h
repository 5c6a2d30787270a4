// SPDX-License-Identifier: Apache-2.0
//
// What differs between architectures: what functions are called with, and what an instruction does to a state.
#pragma once

#include <vector>

#include "tests/constant_time/disassembly/state.h"
#include "tests/constant_time/disassembly/taint.h"

namespace nbdcrypt::disassembly {

/// What an operation is called with. Other arguments are lengths, and pointers to secrets.
struct Arguments {
  int key = -1, run = -1;  // which is a Key, and which a Run or its like of the authenticated modes, from 0; -1: none
};

/// The state at the entry of an operation.
State enter_x86(const Arguments& arguments);
State enter_arm(const Arguments& arguments);
State enter_power(const Arguments& arguments);

/// Carries the state over an instruction, and reports what depends on a secret and must not.
void step_x86(const Instruction& instruction, State& state, bool counter_mode, std::vector<Report>& reports);
void step_arm(const Instruction& instruction, State& state, bool counter_mode, std::vector<Report>& reports);
void step_power(const Instruction& instruction, State& state, bool counter_mode, std::vector<Report>& reports);

}  // namespace nbdcrypt::disassembly
