// SPDX-License-Identifier: Apache-2.0
//
// objdump -dr -C -M intel --no-show-raw-insn ARCHIVE | disassembly-check MACHINE MEMBER
// Reports each branch and each address in a backend's operations that depends on more than lengths and pointers.
#include <cstdio>
#include <iostream>

#include "tests/constant_time/disassembly/taint.h"

int main(int argc, char** argv) {
  using namespace nbdcrypt::disassembly;
  if (argc != 3) return std::fprintf(stderr, "usage: objdump ... | disassembly-check MACHINE MEMBER\n"), 2;
  std::size_t operations = 0, instructions = 0, faults = 0;
  for (const Function& function : read_program(std::cin, argv[2])) {
    if (!is_operation(function) || function.code.empty()) continue;
    const auto reports = check(function, argv[1]);
    for (const Report& report : reports) {
      std::printf("%s\n  %llx: %s: %s\n", function.name.c_str(),
                  static_cast<unsigned long long>(report.instruction->address), report.why.c_str(),
                  report.instruction->text.c_str());
    }
    ++operations, instructions += function.code.size(), faults += reports.size();
  }
  std::printf("%s: %zu operations, %zu instructions, %zu reports\n", argv[2], operations, instructions, faults);
  return operations == 0 ? 2 : faults > 0 ? 1 : 0;
}
