// SPDX-License-Identifier: Apache-2.0
#include "nbdkit-plugin/report.h"

#include <fmt/format.h>

#include "aes/registry.h"
#include "modes/chain.h"

namespace nbdcrypt::plugin {
namespace {

std::string names(bool that_run_here) {
  std::string list;
  for (const aes::Backend* backend : aes::built()) {
    if (aes::runs_here(*backend) != that_run_here) continue;
    if (!list.empty()) list += ' ';
    list += backend->name;
  }
  return list;
}

}  // namespace

std::string capabilities() {
  return fmt::format(
      "crypt_types=luks1 luks2 plain\ncrypt_backends={}\ncrypt_backends_not_here={}\ncrypt_backend_default={}\n",
      names(true), names(false), aes::best().name);
}

std::string call_counts() {
  std::string lines;
  for (const aes::Backend* backend : aes::built()) {
    const modes::Calls& calls = modes::calls_of(*backend);
    for (unsigned op = 0; op < aes::kOps; ++op) {
      const std::uint64_t offload = calls.offload[op].load(std::memory_order_relaxed);
      const std::uint64_t blocks = calls.blocks[op].load(std::memory_order_relaxed);
      if (offload + blocks == 0) continue;
      lines += fmt::format("crypt: {} {}: {} offload calls, {} block calls\n", backend->name,
                           modes::name_of(static_cast<aes::Op>(op)), offload, blocks);
    }
  }
  return lines;
}

}  // namespace nbdcrypt::plugin
