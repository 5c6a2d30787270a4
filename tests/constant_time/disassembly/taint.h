// SPDX-License-Identifier: Apache-2.0
//
// Follows keys and data through the machine code of a backend: does a branch or an address depend on them? A data flow
// over the instructions of a function, with a value for each register and for each place of the stack that is addressed
// without an index. What is read through a pointer to data is secret, and so is what is computed from it. Public are
// the arguments, the fields of Run and of GcmRun, OcbRun and MacRun, the number of rounds and the serial of a Key,
// constants, and the IVs of counter modes and of GCM.
//
// What it trusts: a store with an index does not go below the array that it indexes. What it does not follow is secret,
// so it errs on the other side.
#pragma once

#include <string>
#include <vector>

#include "tests/constant_time/disassembly/program.h"

namespace nbdcrypt::disassembly {

struct Report {
  const Instruction* instruction;
  std::string why;
};

/// `machine`: x86-64, aarch64 or ppc64.
std::vector<Report> check(const Function& function, const std::string& machine);

/// True for the operations of a backend: functions that take a Key or a HashKey, and GHASH.
bool is_operation(const Function& function);

}  // namespace nbdcrypt::disassembly
