// SPDX-License-Identifier: Apache-2.0
//
// AArch64 code of the AAPCS64.
#include <cstdlib>
#include <optional>

#include "tests/constant_time/disassembly/risc.h"

namespace nbdcrypt::disassembly {
namespace {

constexpr int kStack = 31;

/// "x3", "w3", "sp", "q3", "v3.16b", "v3.d[1]", "{v3.16b}"; kNone for anything else, and for the register of zeroes.
int register_of(const std::string& text) {
  const std::string name = text[0] == '{' ? text.substr(1) : text;
  if (name == "sp" || name == "wsp") return kStack;
  if (name.size() < 2 || name[1] < '0' || name[1] > '9') return -1;
  const int number = std::atoi(name.c_str() + 1);
  if (name[0] == 'x' || name[0] == 'w') return number;
  return std::string("vqdshb").find(name[0]) != std::string::npos ? 33 + number : -1;
}

int width_of(const std::string& name) {
  return name[0] == 'q' || name[0] == 'v' ? 16 : name[0] == 'w' || name[0] == 's' ? 4 : 8;
}

class ArmStep : RiscStep {
 public:
  ArmStep(const Instruction& instruction, State& state, bool counter_mode, std::vector<Report>& reports)
      : RiscStep(instruction, state, counter_mode, reports, 0, register_of) {}

  void run() {
    const std::string& name = at_.mnemonic;
    const auto starts = [&](const char* prefix) { return name.starts_with(prefix); };
    if (name == "ret" || name == "nop" || starts("bti") || starts("paci") || starts("auti") || name == ".inst") return;
    if (name == "bl" || (name == "b" && !at_.symbol.empty())) return call(kKept);  // at the end, too
    if (name == "br" || name == "blr") return branch_on(read(0));
    if (name == "b") return;
    if (starts("b.")) return branch_on(of(kFlags));
    if (starts("cb") || starts("tb")) {
      if (starts("cbz") || starts("cbnz") || starts("tbz") || starts("tbnz")) return branch_on(read(0));
    }
    if (starts("ld") || starts("st") || starts("prfm")) return transfer(starts("ld"), starts("st"));
    if (starts("adr")) return set(register_of(operands_[0]), {.kind = Kind::constant});
    if (name == "udiv" || name == "sdiv") report_if(all(1).is_secret(), "division by or of a secret");
    if (name == "cmp" || name == "cmn" || name == "tst" || starts("fcmp")) return set(kFlags, all(0));
    if (starts("ccm")) return set(kFlags, join(all(0), of(kFlags)));
    const int to = register_of(operands_[0]);
    if (starts("cs") || starts("cinc") || starts("cinv") || starts("cneg")) return set(to, join(all(1), of(kFlags)));
    Value result = all(adds_to_first() ? 0 : 1);
    if ((name == "eor" || name == "sub") && operands_[1] == operands_[2])
      result = kOpen;
    else if (name == "mov" && operands_[0].find('[') == std::string::npos)
      result = read(1);
    else if (name == "add" || name == "sub")
      result = sum(name == "sub");
    if (name == "and" && to == kStack) result = {.kind = Kind::frame, .offset = 0, .region = at_.address + 1};
    set(to, result);
    if (name == "adds" || name == "subs" || name == "ands" || name == "negs" || name == "bics") set(kFlags, all(1));
  }

 private:
  /// x18 to x30, the stack pointer, and the lower halves of v8 to v15.
  static inline const std::set<int> kKept = {19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31};

  bool adds_to_first() const {
    static const std::set<std::string> kNames = {"aese", "aesd", "movk", "bfi", "bfxil", "bsl", "bit",
                                                 "bif",  "mla",  "ins",  "tbx", "sri",   "sli"};
    return kNames.count(at_.mnemonic) > 0 || operands_[0].find('[') != std::string::npos;
  }

  std::optional<long> immediate(const std::string& text) const {
    if (text.empty() || text[0] != '#') return {};
    return std::strtol(text.c_str() + 1, nullptr, 0);
  }

  Value sum(bool minus) const {
    std::optional<long> constant = immediate(operands_[2]);
    if (operands_.size() > 3) constant = {};  // shifted
    if (constant && minus) constant = -*constant;
    return moved(read(1), read(2), constant);
  }

  /// Loads and stores of one register or more: [base], [base, #16], [base, x1, lsl #4], [base, #16]!, [base], #16.
  void transfer(bool loads, bool stores) {
    std::size_t memory = 0;
    while (memory < operands_.size() && operands_[memory][0] != '[') ++memory;
    if (memory == operands_.size()) return report_if(true, "an instruction that is not known");
    const std::string inside = operands_[memory].substr(1, operands_[memory].find(']') - 1);
    const std::size_t comma = inside.find(',');
    const int base = register_of(inside.substr(0, comma));
    Value at = of(base);
    if (comma != std::string::npos) {
      const std::string by = inside.substr(inside.find_first_not_of(" ", comma + 1));
      const std::optional<long> constant = immediate(by);
      at = moved(at, constant ? kOpen : of(register_of(by.substr(0, by.find(',')))), constant);
    }
    const bool before = operands_[memory].back() == '!';
    if (before) set(base, at);
    for (std::size_t i = 0; i < memory; ++i) {
      const int number = register_of(operands_[i]), width = width_of(operands_[i]);
      if (loads) set(number, load(at, width));
      if (stores) store(at, width, of(number));
      at = moved(at, kOpen, width);
    }
    if (memory + 1 < operands_.size()) set(base, moved(of(base), kOpen, immediate(operands_[memory + 1])));
  }
};

}  // namespace

State enter_arm(const Arguments& arguments) {
  State state;
  state.registers[kStack] = {.kind = Kind::frame, .offset = 0};
  if (arguments.key >= 0) state.registers[arguments.key] = {.kind = Kind::key, .offset = 0};
  if (arguments.run >= 0) state.registers[arguments.run] = {.kind = Kind::run, .offset = 0};
  return state;
}

void step_arm(const Instruction& instruction, State& state, bool counter_mode, std::vector<Report>& reports) {
  ArmStep(instruction, state, counter_mode, reports).run();
}

}  // namespace nbdcrypt::disassembly
