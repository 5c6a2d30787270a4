// SPDX-License-Identifier: Apache-2.0
//
// x86-64 code of the System V ABI, in Intel's syntax.
#include <algorithm>
#include <cstdlib>
#include <optional>
#include <regex>
#include <set>
#include <utility>

#include "tests/constant_time/disassembly/machine.h"

namespace nbdcrypt::disassembly {
namespace {

// Registers by number: 16 general ones, the flags, 32 vectors, 8 masks.
constexpr int kFlags = 16, kVectors = 17, kMasks = 49, kEnd = 57;
constexpr int kAx = 0, kCx = 1, kDx = 2, kSp = 4, kBp = 5, kSi = 6, kDi = 7;

/// The number and width in bytes of a register, or -1.
std::pair<int, int> register_of(const std::string& name) {
  static const char* const kOld[] = {"ax", "cx", "dx", "bx", "sp", "bp", "si", "di"};
  static const std::regex numbered("r([0-9]+)([dwb]?)"), vector("([xyz])mm([0-9]+)"), mask("k([0-7])");
  std::smatch match;
  if (std::regex_match(name, match, vector)) {
    return {kVectors + std::stoi(match[2]), match[1] == "x" ? 16 : match[1] == "y" ? 32 : 64};
  }
  if (std::regex_match(name, match, mask)) return {kMasks + std::stoi(match[1]), 8};
  if (std::regex_match(name, match, numbered)) {
    return {std::stoi(match[1]), match[2] == "d" ? 4 : match[2] == "w" ? 2 : match[2] == "b" ? 1 : 8};
  }
  for (int i = 0; i < 8; ++i) {
    const std::string old = kOld[i];
    if (name == "r" + old) return {i, 8};
    if (name == "e" + old) return {i, 4};
    if (name == old) return {i, 2};
    if (name == old + "l" || name == old.substr(0, 1) + "l" || name == old.substr(0, 1) + "h") return {i, 1};
  }
  return {-1, 0};
}

struct Memory {
  int base = -1, index = -1;
  long displacement = 0;
  int width = 8;
};

struct Operand {
  enum { constant, reg, memory } type = constant;
  int number = -1, width = 8;
  bool merges = false;  // under a mask that keeps the other lanes
  Memory place;
  long value = 0;
};

int width_of(const std::string& text) {
  static const std::pair<const char*, int> kWidths[] = {{"ZMMWORD", 64}, {"YMMWORD", 32}, {"XMMWORD", 16}, {"QWORD", 8},
                                                        {"DWORD", 4},    {"BYTE", 1},     {"WORD", 2}};
  for (const auto& [name, width] : kWidths) {
    if (text.find(name) != std::string::npos) return width;
  }
  return 8;
}

Operand parse(const std::string& text) {
  Operand operand;
  const std::size_t open = text.find('[');
  if (open != std::string::npos || text.find(':') != std::string::npos) {
    operand.type = Operand::memory;
    operand.width = operand.place.width = width_of(text);
    if (open == std::string::npos) return operand;  // fs:0x28
    static const std::regex term("([+-]?)([a-z0-9]+)(\\*[1248])?");
    const std::string inside = text.substr(open + 1, text.find(']') - open - 1);
    for (std::sregex_iterator at(inside.begin(), inside.end(), term), end; at != end; ++at) {
      const std::string name = (*at)[2];
      if (const int number = register_of(name).first; number >= 0) {
        (operand.place.base < 0 && !(*at)[3].matched ? operand.place.base : operand.place.index) = number;
      } else if (name != "rip" && name != "riz") {
        operand.place.displacement = static_cast<long>(std::stoull(name, nullptr, 16)) * ((*at)[1] == "-" ? -1 : 1);
      }
    }
    return operand;
  }
  const std::string name = text.substr(0, text.find('{'));
  std::tie(operand.number, operand.width) = register_of(name);
  if (operand.number >= 0) {
    operand.type = Operand::reg;
    operand.merges = text.find("{k") != std::string::npos && text.find("{z}") == std::string::npos;
  } else if (!name.empty()) {
    operand.value = static_cast<long>(std::strtoull(name.c_str(), nullptr, 16));
    if (name[0] == '-') operand.value = -static_cast<long>(std::strtoull(name.c_str() + 1, nullptr, 16));
  }
  return operand;
}

bool starts(const std::string& text, std::initializer_list<const char*> prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(), [&](const char* prefix) { return text.starts_with(prefix); });
}

bool is_one_of(const std::string& text, const std::set<std::string>& names) { return names.count(text) > 0; }

/// One instruction, and what it does to a state.
class Step {
 public:
  Step(const Instruction& instruction, State& state, bool counter_mode, std::vector<Report>& reports)
      : at_(instruction), state_(state), counter_mode_(counter_mode), reports_(reports) {
    for (const std::string& text : at_.operands) operands_.push_back(parse(text));
  }

  void run() {
    const std::string& name = at_.mnemonic;
    for (const Operand& operand : operands_) {
      if (operand.type == Operand::memory && name != "lea" && !starts(name, {"nop"})) check_address(operand.place);
    }
    if (starts(name, {"nop", "endbr", "vzero", "ret", "hlt", "ud2", "cld"}) || name == "cs") return;
    if (name == "call" || (name == "jmp" && !at_.symbol.empty())) return call();  // at the end, too
    if (name[0] == 'j') return branch();
    if (starts(name, {"rep "})) return repeat();
    if (is_one_of(name, {"push", "pop", "leave"})) return stack_operation();
    if (is_one_of(name, {"div", "idiv"})) report_if(all_operands().is_secret(), "division by or of a secret");
    if (is_one_of(name, {"mul", "div", "idiv"}) || (name == "imul" && operands_.size() == 1)) return wide_arithmetic();
    if (is_one_of(name, {"cdq", "cqo", "cdqe", "cwde"})) return sign_extension();
    if (operands_.empty()) return report(kUnknownInstruction);
    if (is_one_of(name, {"cmp", "test", "bt", "ptest", "vptest"}) ||
        starts(name, {"kortest", "ktest", "vucomi", "ucomi", "vcomi", "comi"})) {
      state_.registers[kFlags] = all_operands();
      return;
    }
    if (name == "lea") return write(operands_[0], address_of(operands_[1].place));
    if (is_move(name)) return write(operands_[0], read(operands_[1]));
    if (starts(name, {"set"})) return set(operands_[0]);
    if (starts(name, {"cmov"})) return write(operands_[0], join(all_operands(), state_.registers[kFlags]));
    if (name == "xchg") return exchange();
    compute();
  }

 private:
  static constexpr const char* kUnknownInstruction = "an instruction that is not known";

  void report(const std::string& why) { reports_.push_back({&at_, why}); }
  void report_if(bool condition, const char* why) {
    if (condition) report(why);
  }

  static bool is_move(const std::string& name) {
    return starts(name, {"mov", "vmov", "lddqu", "vlddqu", "kmov", "vpbroadcast", "vbroadcast", "vextract", "pextr",
                         "vpextr", "pshufd", "vpmovzx"}) &&
           name != "movs" && name != "vmovhps" && name != "movhps" && name != "movlps" && name != "vmovlps";
  }

  Value of(int number) const { return number < 0 ? kOpen : state_.registers[number]; }

  void check_address(const Memory& place) {
    report_if(of(place.base).is_secret() || of(place.index).is_secret(), "an address depends on a secret");
    report_if(place.index >= kVectors, "an address in each lane");
  }

  Value address_of(const Memory& place) const {
    if (place.base < 0 && place.index < 0) return kOpen;
    Value sum = moved(of(place.base), kOpen, place.displacement);
    return place.index < 0 ? sum : moved(sum, of(place.index), {});
  }

  Value load(const Memory& place) const {
    if (place.base < 0 && place.index < 0) return kOpen;  // a constant
    return state_.load(address_of(place), place.width, counter_mode_);
  }

  void store(const Memory& place, const Value& value) { state_.store(address_of(place), place.width, value); }

  Value read(const Operand& operand) const {
    if (operand.type == Operand::reg) return of(operand.number);
    return operand.type == Operand::memory ? load(operand.place) : kOpen;
  }

  void write(const Operand& operand, Value value) {
    if (operand.type == Operand::memory) return store(operand.place, value);
    if (operand.type != Operand::reg) return;
    // Bytes and halves of registers stay, and so do lanes under a mask.
    if (operand.width < 4 || operand.merges) value = join(of(operand.number), value);
    state_.registers[operand.number] = value;
  }

  Value all_operands(std::size_t from = 0) const {
    Value all = kOpen;
    for (std::size_t i = from; i < operands_.size(); ++i) all = read(operands_[i]).is_secret() ? kSecret : all;
    return all;
  }

  /// Everything that computes: the first operand from all, or with three from the others.
  void compute() {
    const std::string& name = at_.mnemonic;
    const bool is_vector = operands_[0].type == Operand::reg && operands_[0].number >= kVectors;
    const bool same = operands_.size() >= 2 && at_.operands[operands_.size() - 1] == at_.operands[operands_.size() - 2];
    if (same && starts(name, {"xor", "pxor", "vpxor", "vxor", "sub", "kxor", "psub", "vpsub"})) {
      write(operands_[0], kOpen);
      if (!is_vector) state_.registers[kFlags] = kOpen;
      return;
    }
    // The stack protector's word, which only it writes.
    if (at_.text.find("fs:0x28") != std::string::npos) {
      write(operands_[0], kOpen);
      state_.registers[kFlags] = kOpen;
      return;
    }
    const bool reads_first =
        operands_.size() < 3 || name.starts_with("vpternlog") || name.starts_with("shld") || name.starts_with("shrd");
    Value result = all_operands(reads_first ? 0 : 1);
    if (is_one_of(name, {"adc", "sbb", "rcl", "rcr"})) result = join(result, state_.registers[kFlags]);
    if (is_one_of(name, {"add", "sub"})) result = pointer_sum(name == "sub");
    if (name == "and" && operands_[0].number == kSp)
      result = {.kind = Kind::frame, .offset = 0, .region = at_.address + 1};
    write(operands_[0], result);
    const bool keeps_flags = is_vector || starts(name, {"not", "bswap", "shlx", "shrx", "sarx", "rorx", "mulx", "k"});
    if (!keeps_flags) state_.registers[kFlags] = result.is_secret() ? kSecret : kOpen;
  }

  Value pointer_sum(bool minus) const {
    const Operand& by = operands_[1];
    std::optional<long> constant;
    if (by.type == Operand::constant) constant = minus ? -by.value : by.value;
    return moved(read(operands_[0]), read(by), constant);
  }

  /// A byte, which is read as such: what the rest of the register holds does not matter.
  void set(const Operand& operand) {
    const Value flags = state_.registers[kFlags];
    operand.type == Operand::reg ? void(state_.registers[operand.number] = flags) : write(operand, flags);
  }

  void exchange() {
    const Value first = read(operands_[0]), second = read(operands_[1]);
    write(operands_[0], second), write(operands_[1], first);
  }

  void wide_arithmetic() {
    const Value all = join(join(all_operands(), of(kAx)), of(kDx)).is_secret() ? kSecret : kOpen;
    state_.registers[kAx] = state_.registers[kDx] = state_.registers[kFlags] = all;
  }

  void sign_extension() {
    if (at_.mnemonic == "cdq" || at_.mnemonic == "cqo") state_.registers[kDx] = of(kAx).is_secret() ? kSecret : kOpen;
  }

  void stack_operation() {
    Value& sp = state_.registers[kSp];
    const Memory top{.base = kSp};
    if (at_.mnemonic == "push") {
      const Value value = read(operands_[0]);
      sp = moved(sp, kOpen, -8);
      return store(top, value);
    }
    if (at_.mnemonic == "leave") sp = of(kBp);
    const Value value = load(top);
    sp = moved(sp, kOpen, 8);
    at_.mnemonic == "leave" ? void(state_.registers[kBp] = value) : write(operands_[0], value);
  }

  void repeat() {
    for (const int number : {kCx, kSi, kDi})
      report_if(of(number).is_secret(), "an address or a length depends on a secret");
    for (const int number : {kCx, kSi, kDi}) state_.registers[number] = moved(of(number), kOpen, {});
  }

  void call() {
    const std::string& callee = at_.symbol;
    const bool copies = is_one_of(callee, {"memcpy", "memmove", "__memcpy_chk", "__memmove_chk"});
    const bool fills = is_one_of(callee, {"memset", "__memset_chk"});
    report_if(!copies && !fills && callee != "__stack_chk_fail", "a call of another function");
    const bool secret_place = of(kDi).is_secret() || of(kDx).is_secret() || (copies && of(kSi).is_secret());
    report_if((copies || fills) && secret_place, "an address or a length depends on a secret");
    const Value destination = of(kDi);
    if (copies && destination.kind == Kind::frame) state_.store_array(destination, kSecret);
    for (const int number : {kCx, kDx, kSi, kDi, 8, 9, 10, 11}) state_.registers[number] = kSecret;
    for (int number = kFlags; number < kEnd; ++number) state_.registers[number] = kSecret;
    state_.registers[kAx] = destination;
  }

  void branch() {
    if (at_.target == 0) return report_if(all_operands().is_secret(), "a jump depends on a secret");
    if (at_.mnemonic != "jmp") report_if(of(kFlags).is_secret(), "a branch depends on a secret");
  }

  const Instruction& at_;
  State& state_;
  const bool counter_mode_;
  std::vector<Report>& reports_;
  std::vector<Operand> operands_;
};

}  // namespace

State enter_x86(const Arguments& arguments) {
  State state;
  state.registers[kSp] = {.kind = Kind::frame, .offset = 0};
  constexpr int kPassed[] = {kDi, kSi, kDx, kCx, 8, 9};
  if (arguments.key >= 0) state.registers[kPassed[arguments.key]] = {.kind = Kind::key, .offset = 0};
  if (arguments.run >= 0) state.registers[kPassed[arguments.run]] = {.kind = Kind::run, .offset = 0};
  return state;
}

void step_x86(const Instruction& instruction, State& state, bool counter_mode, std::vector<Report>& reports) {
  Step(instruction, state, counter_mode, reports).run();
}

}  // namespace nbdcrypt::disassembly
