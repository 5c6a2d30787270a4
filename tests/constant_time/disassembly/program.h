// SPDX-License-Identifier: Apache-2.0
//
// What objdump prints of an object file, as functions and instructions.
#pragma once

#include <cstdint>
#include <istream>
#include <map>
#include <string>
#include <vector>

namespace nbdcrypt::disassembly {

struct Instruction {
  std::uint64_t address = 0;
  std::string mnemonic;               // without prefixes; "rep" and the like are kept in front: "rep stos"
  std::vector<std::string> operands;  // as printed, target and comments of branches left out
  std::uint64_t target = 0;           // of a direct branch
  std::string symbol;                 // that a relocation names, such as of a called function
  std::string text;                   // the line, for reports
};

struct Function {
  std::string name;  // demangled
  std::vector<Instruction> code;
};

/// The functions of the member `member` of an archive, from `objdump -dr -C -M intel --no-show-raw-insn`.
std::vector<Function> read_program(std::istream& listing, const std::string& member);

}  // namespace nbdcrypt::disassembly
