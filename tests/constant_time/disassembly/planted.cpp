// SPDX-License-Identifier: Apache-2.0
//
// Operations that leak, each in its own way, and one that does not: what the check of the disassembly must tell apart.
#include <string.h>

#include "aes/backend.h"

namespace nbdcrypt::aes {

/// A branch on a byte of the key.
void planted_branch(const Key& key, const Run& run) noexcept {
  if (key.enc[3] & 1) memset(run.out, 0, run.unit);
}

/// A branch on data that was spilled to the stack.
void planted_stack_branch(const Key& key, const Run& run) noexcept {
  volatile unsigned spilled = run.in[5] ^ key.dec[3];
  if (spilled == 5) memset(run.out, 0, run.unit);
}

/// A table that is looked up by data.
void planted_address(const Key& key, const Run& run) noexcept { run.out[0] = key.enc[run.in[0] & 15]; }

/// A length out of the data.
void planted_length(const Key&, const Run& run) noexcept { memset(run.out, 0, run.in[0]); }

/// A branch on data that was copied to a buffer whose bytes were public.
void planted_copy(const Key&, const Run& run) noexcept {
  Byte buffer[64] = {};
  memcpy(buffer, run.in, run.unit);
  if (buffer[9] == 1) memset(run.out, 0, run.unit);
}

/// An IV that is a secret outside of counter modes.
void planted_iv(const Key& key, const Run& run) noexcept {
  if (run.iv[0] == 0) run.out[0] = static_cast<Byte>(key.rounds);
}

/// A branch on what GHASH has come to.
void planted_hash(const Key&, const HashKey&, const GcmRun& run) noexcept {
  if (run.state[7] & 1) memset(run.out, 0, kBlockBytes * run.blocks);
}

/// A branch on the counter of EAX, which is a secret, not that of GCM.
void planted_counter(const Key&, const MacRun& run) noexcept {
  if (run.counter[15] == 0) memset(run.out, 0, kBlockBytes * run.blocks);
}

/// Branches on lengths and on the number of rounds alone.
void planted_nothing(const Key& key, const Run& run) noexcept {
  for (size_t at = 0; at < run.unit * run.count; at++) {
    run.out[at] = static_cast<Byte>(run.in[at] ^ key.enc[at % (16 * key.rounds)]);
  }
}

}  // namespace nbdcrypt::aes
