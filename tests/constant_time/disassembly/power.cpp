// SPDX-License-Identifier: Apache-2.0
//
// 64-bit PowerPC code of the ELF ABIs, in both byte orders.
#include <cstdlib>
#include <optional>

#include "tests/constant_time/disassembly/risc.h"

namespace nbdcrypt::disassembly {
namespace {

/// "r3", "vs3", "v3" (which is vs35), "f3" (vs3); kNone for anything else, such as "cr7" and numbers.
int register_of(const std::string& name) {
  const auto numbered = [&](const char* prefix) {
    const std::size_t size = std::string(prefix).size();
    return name.starts_with(prefix) && name.size() > size && name[size] >= '0' && name[size] <= '9';
  };
  if (numbered("r")) return std::atoi(name.c_str() + 1);
  if (numbered("vs")) return 33 + std::atoi(name.c_str() + 2);
  if (numbered("v")) return 33 + 32 + std::atoi(name.c_str() + 1);
  if (numbered("f")) return 33 + std::atoi(name.c_str() + 1);
  return -1;
}

class PowerStep : RiscStep {
 public:
  PowerStep(const Instruction& instruction, State& state, bool counter_mode, std::vector<Report>& reports)
      : RiscStep(instruction, state, counter_mode, reports, 3, register_of) {}

  void run() {
    const std::string& name = at_.mnemonic;
    const auto starts = [&](const char* prefix) { return name.starts_with(prefix); };
    if (name == "bl" || (name == "b" && !at_.symbol.empty())) return call(kept());  // at the end, too
    if (name == "nop" || name == "blr" || name == "b" || name[0] == '.' || starts("mtlr") || starts("bd")) return;
    if (name == "bctr" || name == "bctrl") return;
    if (starts("mtctr")) return report_if(read(0).is_secret(), "a jump or a count depends on a secret");
    if (starts("mflr") || starts("mfctr")) return set(first(), kOpen);
    if (starts("mtocrf") || starts("mtcrf")) return set(kFlags, all(1));
    if (starts("mfocrf") || starts("mfcr")) return set(first(), of(kFlags));
    if (name[0] == 'b' && !starts("brh") && !starts("brw") && !starts("brd")) return branch_on(of(kFlags));
    if (starts("cmp")) return set(kFlags, all(0));
    if (starts("isel")) return set(first(), join(all(1), of(kFlags)));
    if (name == "li")
      return set(first(), {.kind = Kind::open, .offset = std::strtol(operands_[1].c_str(), nullptr, 0)});
    if (name == "lis" || starts("vsplti") || starts("xxspltib")) return set(first(), kOpen);
    if (starts("lvs")) return set(first(), all(1));
    if (name[0] == 'l' || starts("st")) return transfer(name[0] == 'l');
    if (starts("div")) report_if(all(1).is_secret(), "division by or of a secret");
    set(first(), result());
    if (name.back() == '.') set(kFlags, of(first()).is_secret() ? kSecret : kOpen);
  }

 private:
  /// r1, r2, r13 to r31 and the vectors that functions keep.
  static const std::set<int>& kept() {
    static const std::set<int> numbers = [] {
      std::set<int> all = {1, 2};
      for (int i = 13; i < 32; ++i) all.insert(i);
      return all;
    }();
    return numbers;
  }

  int first() const { return register_of(operands_[0]); }
  Value result() const {
    const std::string& name = at_.mnemonic;
    static const std::set<std::string> kAddsToFirst = {"rlwimi", "rldimi", "rlwimi.", "rldimi.", "vmladduhm"};
    const bool same = operands_.size() == 3 && operands_[1] == operands_[2];
    if (same && (name == "xor" || name == "vxor" || name == "xxlxor" || name == "subf")) return kOpen;
    if (name == "mr") return read(1);
    if (name == "addi" || name == "addis") {
      return moved(read(1), kOpen,
                   name == "addi" ? std::optional(std::strtol(operands_[2].c_str(), nullptr, 0)) : std::nullopt);
    }
    if (name == "add") return moved(read(1), read(2), {});
    if (name == "subf") return difference(read(2), read(1));
    const bool aligns_stack = first() == 1 && register_of(operands_.back()) != 1;
    if (aligns_stack) return {.kind = Kind::frame, .offset = 0, .region = at_.address + 1};
    return all(kAddsToFirst.count(name) > 0 ? 0 : 1);
  }

  static Value difference(const Value& a, Value b) {
    if (b.kind == Kind::open && b.offset != kUnknown) b.offset = -b.offset;
    return moved(a, b, {});
  }

  static int width_of(const std::string& name) {
    if (name.starts_with("lx") || name.starts_with("lv") || name.starts_with("stx") || name.starts_with("stv"))
      return 16;
    const char size = name[name.starts_with("st") ? 2 : 1];
    return size == 'd' ? 8 : size == 'w' ? 4 : size == 'h' ? 2 : 1;
  }

  /// "r9,16(r4)" and "vs0,r3,r4".
  void transfer(bool loads) {
    const std::string& name = at_.mnemonic;
    const std::size_t open = operands_[1].find('(');
    int base = -1;
    Value at;
    if (open != std::string::npos) {
      base = register_of(operands_[1].substr(open + 1, operands_[1].find(')') - open - 1));
      at = moved(of(base), kOpen, std::strtol(operands_[1].c_str(), nullptr, 0));
    } else {
      base = register_of(operands_[1]);
      at = moved(read(1), read(2), {});
    }
    const int width = width_of(name);
    const Value value = of(first());
    if (loads) set(first(), load(at, width));
    if (!loads) store(at, width, value);
    const bool updates = name.back() == 'u' || name.ends_with("ux");
    if (updates) set(base, at);
  }
};

}  // namespace

State enter_power(const Arguments& arguments) {
  State state;
  state.registers[1] = {.kind = Kind::frame, .offset = 0};
  for (const int number : {2, 12, 13}) state.registers[number] = {.kind = Kind::constant};
  if (arguments.key >= 0) state.registers[3 + arguments.key] = {.kind = Kind::key, .offset = 0};
  if (arguments.run >= 0) state.registers[3 + arguments.run] = {.kind = Kind::run, .offset = 0};
  return state;
}

void step_power(const Instruction& instruction, State& state, bool counter_mode, std::vector<Report>& reports) {
  PowerStep(instruction, state, counter_mode, reports).run();
}

}  // namespace nbdcrypt::disassembly
