// SPDX-License-Identifier: Apache-2.0
#include "tests/constant_time/disassembly/taint.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "tests/constant_time/disassembly/machine.h"

namespace nbdcrypt::disassembly {
namespace {

struct Machine {
  const char* name;
  State (*enter)(const Arguments&);
  void (*step)(const Instruction&, State&, bool counter_mode, std::vector<Report>&);
};

constexpr Machine kMachines[] = {
    {"x86-64", enter_x86, step_x86}, {"aarch64", enter_arm, step_arm}, {"ppc64", enter_power, step_power}};

const Machine& machine_named(const std::string& name) {
  for (const Machine& machine : kMachines) {
    if (name == machine.name) return machine;
  }
  throw std::runtime_error("machine " + name + ": expected x86-64, aarch64 or ppc64");
}

bool ends_flow(const Instruction& instruction) {
  static const std::set<std::string> kEnds = {"jmp", "ret", "ud2", "b", "br", "blr", "bctr", "udf"};
  return kEnds.count(instruction.mnemonic) > 0 || instruction.symbol == "__stack_chk_fail";
}

std::string arguments_in(const std::string& name) {
  const std::size_t open = name.rfind('(');
  return open == std::string::npos ? "" : name.substr(open);
}

Arguments arguments_of(const Function& function) {
  Arguments arguments;
  std::istringstream list(arguments_in(function.name));
  std::string type;
  for (int i = 0; std::getline(list, type, ','); ++i) {
    if (type.find("::Key") != std::string::npos) arguments.key = i;
    if (type.find("Run const&") != std::string::npos) arguments.run = i;
  }
  return arguments;
}

bool is_call(const Instruction& instruction) { return instruction.mnemonic == "call" || instruction.mnemonic == "bl"; }

}  // namespace

bool is_operation(const Function& function) {
  return arguments_in(function.name).find("Key") != std::string::npos ||
         function.name.find("ghash") != std::string::npos;
}

std::vector<Report> check(const Function& function, const std::string& machine_name) {
  const Machine& machine = machine_named(machine_name);
  const bool counter_mode =
      function.name.find("Ctr") != std::string::npos || function.name.find("GcmRun") != std::string::npos;
  std::map<std::uint64_t, std::size_t> index;
  for (std::size_t i = 0; i < function.code.size(); ++i) index[function.code[i].address] = i;
  std::vector<std::optional<State>> before(function.code.size());
  std::set<std::size_t> pending{0};
  before[0] = machine.enter(arguments_of(function));
  std::vector<Report> reports;
  const auto flow_to = [&](std::size_t to, const State& state) {
    if (to >= before.size()) return;
    const State joined = before[to] ? join(*before[to], state) : state;
    if (before[to] && joined == *before[to]) return;
    before[to] = joined;
    pending.insert(to);
  };
  while (!pending.empty()) {
    const std::size_t i = *pending.begin();
    pending.erase(pending.begin());
    const Instruction& instruction = function.code[i];
    State state = *before[i];
    machine.step(instruction, state, counter_mode, reports);
    if (instruction.target != 0 && !is_call(instruction)) {
      const auto found = index.find(instruction.target);
      if (found != index.end()) flow_to(found->second, state);
    }
    if (!ends_flow(instruction)) flow_to(i + 1, state);
  }
  // The stack protector compares a word that only it writes.
  const auto is_protector = [&](const Report& report) {
    const auto target = index.find(report.instruction->target);
    const std::size_t behind = static_cast<std::size_t>(report.instruction - function.code.data()) + 1;
    const auto fails = [&](std::size_t i) {
      while (i < function.code.size() && function.code[i].target == 0 && !is_call(function.code[i])) ++i;
      return i < function.code.size() && function.code[i].symbol == "__stack_chk_fail";
    };
    return (target != index.end() && fails(target->second)) || (report.instruction->target != 0 && fails(behind));
  };
  std::erase_if(reports, is_protector);
  // Once for each instruction, though it was walked more than once.
  std::sort(reports.begin(), reports.end(), [](const Report& a, const Report& b) {
    return std::pair(a.instruction->address, a.why) < std::pair(b.instruction->address, b.why);
  });
  const auto same = [](const Report& a, const Report& b) { return a.instruction == b.instruction && a.why == b.why; };
  reports.erase(std::unique(reports.begin(), reports.end(), same), reports.end());
  return reports;
}

}  // namespace nbdcrypt::disassembly
