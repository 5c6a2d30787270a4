// SPDX-License-Identifier: Apache-2.0
//
// Where the call counters and the names of operations and offload levels live.
#include <algorithm>
#include <memory>
#include <string>

#include "aes/registry.h"
#include "base/error.h"
#include "modes/chain.h"

namespace nbdcrypt::modes {
namespace {

constexpr Offload kOffloads[] = {Offload::off, Offload::buffer, Offload::batch};

}  // namespace

const char* name_of(Offload offload) noexcept {
  switch (offload) {
    case Offload::off:
      return "off";
    case Offload::buffer:
      return "buffer";
    case Offload::batch:
      return "batch";
  }
  return "unknown";
}

Offload parse_offload(std::string_view name) {
  for (const Offload offload : kOffloads) {
    if (name == name_of(offload)) return offload;
  }
  throw base::Error(base::Kind::usage, "offload " + std::string(name) + ": unknown, expected off, buffer or batch");
}

const char* name_of(aes::Op op) noexcept {
  switch (op) {
    case aes::ecb_enc:
      return "ecb-encrypt";
    case aes::ecb_dec:
      return "ecb-decrypt";
    case aes::cbc_enc:
      return "cbc-encrypt";
    case aes::cbc_dec:
      return "cbc-decrypt";
    case aes::cfb_enc:
      return "cfb-encrypt";
    case aes::cfb_dec:
      return "cfb-decrypt";
    case aes::ofb:
      return "ofb";
    case aes::ctr:
      return "ctr";
    case aes::ctr32:
      return "ctr32";
    case aes::xts_enc:
      return "xts-encrypt";
    case aes::xts_dec:
      return "xts-decrypt";
    case aes::kOps:
      break;
  }
  return "unknown";
}

Calls& calls_of(const aes::Backend& backend) noexcept {
  const auto built = aes::built();
  static const auto all = std::make_unique<Calls[]>(built.size() + 1);
  // find() gives built.size() for a stranger: the last set.
  return all[static_cast<std::size_t>(std::ranges::find(built, &backend) - built.begin())];
}

}  // namespace nbdcrypt::modes
