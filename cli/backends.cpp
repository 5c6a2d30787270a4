// SPDX-License-Identifier: Apache-2.0
//
// backends: the AES implementations of this build in order of preference, which of them run on this processor, which
// one is chosen, and what each takes in whole batches.
#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "aes/cpu.h"
#include "aes/registry.h"
#include "cli/add_options.h"
#include "cli/command.h"
#include "modes/backend_choice.h"
#include "modes/chain.h"

namespace nbdcrypt::cli {
namespace {

using aes::Backend;
namespace cpu = aes::cpu;

void add_options(po::options_description& options) {
  add_value<std::string>(options, "backend", "NAME", "show the choice that --backend NAME makes");
}

// The names of the features in `mask`, "aesni, vaes". parse_mask() of a name adds what builds on it, which has higher
// bits.
std::string feature_names(std::uint64_t mask) {
  std::vector<std::string_view> names;
  std::string_view rest = cpu::known_names();
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(", "), rest.size());
    const std::string_view name = rest.substr(0, end);
    const std::uint64_t with_dependents = cpu::parse_mask(name).features;
    if ((with_dependents & -with_dependents & mask) != 0) names.push_back(name);
    rest.remove_prefix(std::min(end + 2, rest.size()));
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string why_not(const Backend& backend) {
  const std::uint64_t lacking = backend.needs & ~cpu::detect();
  if (lacking != 0) return "this processor has no " + feature_names(lacking);
  return "NBDCRYPT_DISABLE_CPU masks " + feature_names(backend.needs & cpu::disabled().features);
}

std::string offloads(const Backend& backend) {
  std::vector<const char*> names;
  for (unsigned op = 0; op < aes::kOps; ++op) {
    if (backend.offload.of[op] != nullptr) names.push_back(modes::name_of(static_cast<aes::Op>(op)));
  }
  return names.empty() ? "nothing: the modes chain over its blocks" : fmt::format("{}", fmt::join(names, " "));
}

int run(const Arguments& arguments) {
  const std::string named = arguments.get_or<std::string>("backend", "");
  const Backend& chosen = modes::choose_backend(named);
  for (const Backend* backend : aes::built()) {
    const bool runs = aes::runs_here(*backend);
    fmt::print("{} {:<16} {:<9} {}{}\n", backend == &chosen ? '*' : ' ', backend->name, runs ? "runs here" : "",
               backend->by_name_only ? "only by name, " : "",
               runs ? "offloads " + offloads(*backend) : why_not(*backend));
  }
  fmt::print("chosen: {}, {}\n", chosen.name,
             named.empty() ? "the first in this order that runs here" : "as --backend says");
  const std::string warning = modes::warning_about(chosen);
  if (!warning.empty()) fmt::print(stderr, "nbdcrypt: warning: {}\n", warning);
  return 0;
}

}  // namespace

Command backends_command() {
  return {"backends", {}, "", "list the AES implementations and which one is chosen", 0, 0, add_options, run};
}

}  // namespace nbdcrypt::cli
