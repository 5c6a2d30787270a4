// SPDX-License-Identifier: Apache-2.0
//
// Output feedback: NIST SP 800-38A, 6.4. O_j = E(O_{j-1}), C_j = P_j ^ O_j; the same in both directions.
#include "modes/generic_modes.h"
#include "modes/walk.h"

namespace nbdcrypt::modes::generic {
namespace {

template <std::size_t kUnits>
std::size_t run(const aes::Backend& backend, const aes::Key& key, const aes::Run& batch) noexcept {
  return walk_serial<kUnits>(
      backend.encrypt, key, batch, [](Block state, Block) { return state; },
      [](Block cipher, Block in) { return Step{.out = cipher ^ in, .state = cipher}; });
}

}  // namespace

constinit const Forms ofb{.single = run<1>, .batched = run<kUnitsPerCall>};

}  // namespace nbdcrypt::modes::generic
