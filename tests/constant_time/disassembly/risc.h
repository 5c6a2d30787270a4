// SPDX-License-Identifier: Apache-2.0
//
// What load-store machines share: registers that are named first when they are written, memory that is only loaded and
// stored, and calls with three arguments.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/constant_time/disassembly/machine.h"

namespace nbdcrypt::disassembly {

class RiscStep {
 protected:
  /// The arguments of a function and its result are in `argument` and the two registers behind. `register_of`: the
  /// number of a register by its name, or kNone.
  RiscStep(const Instruction& instruction, State& state, bool counter_mode, std::vector<Report>& reports, int argument,
           int (*register_of)(const std::string&))
      : at_(instruction),
        state_(state),
        counter_mode_(counter_mode),
        reports_(reports),
        operands_(instruction.operands),
        argument_(argument),
        register_of_(register_of) {}

  static constexpr int kFlags = 32, kVectors = 33, kNone = -1;

  Value of(int number) const { return number == kNone ? kOpen : state_.registers[number]; }
  void set(int number, const Value& value) {
    if (number != kNone) state_.registers[number] = value;
  }
  void report_if(bool condition, const char* why) {
    if (condition) reports_.push_back({&at_, why});
  }

  Value read(std::size_t i) const { return i < operands_.size() ? of(register_of_(operands_[i])) : kOpen; }

  /// Secret when one of the operands from `from` on is.
  Value all(std::size_t from) const {
    for (std::size_t i = from; i < operands_.size(); ++i) {
      if (read(i).is_secret()) return kSecret;
    }
    return kOpen;
  }

  Value load(const Value& from, int width) {
    report_if(from.is_secret(), "an address depends on a secret");
    return state_.load(from, width, counter_mode_);
  }
  void store(const Value& to, int width, const Value& value) {
    report_if(to.is_secret(), "an address depends on a secret");
    state_.store(to, width, value);
  }

  void branch_on(const Value& value) { report_if(value.is_secret(), "a branch depends on a secret"); }

  /// `kept`: registers that a called function leaves alone.
  void call(const std::set<int>& kept) {
    const std::string& callee = at_.symbol;
    const bool copies = callee == "memcpy" || callee == "memmove" || callee == "__memcpy_chk";
    const bool fills = callee == "memset" || callee == "__memset_chk";
    report_if(!copies && !fills && callee != "__stack_chk_fail", "a call of another function");
    const bool secret = of(argument_).is_secret() || of(argument_ + 2).is_secret();
    report_if((copies || fills) && (secret || (copies && of(argument_ + 1).is_secret())),
              "an address or a length depends on a secret");
    const Value destination = of(argument_);
    if (copies && destination.kind == Kind::frame) state_.store_array(destination, kSecret);
    for (int number = 0; number < State::kRegisters; ++number) {
      if (kept.count(number) == 0) state_.registers[number] = kSecret;
    }
    state_.registers[argument_] = destination;
  }

  const Instruction& at_;
  State& state_;
  const bool counter_mode_;
  std::vector<Report>& reports_;
  const std::vector<std::string>& operands_;

 private:
  const int argument_;
  int (*const register_of_)(const std::string&);
};

}  // namespace nbdcrypt::disassembly
