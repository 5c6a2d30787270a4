// SPDX-License-Identifier: Apache-2.0
//
// A chaining mode bound to a backend: decides once, in its constructor, whether the backend's offload kernel or the
// generic mode does the work, and is the only code that reads Backend::offload and honours Backend::limits.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "aes/backend.h"
#include "modes/generic_modes.h"

namespace nbdcrypt::modes {

/// How much is handed to the backend at a time.
enum class Offload {
  off,     ///< one block a call, chained in software: the stock path of 2005
  buffer,  ///< one offload call a unit: the 2005 idea
  batch,   ///< one offload call a batch: ours
};

/// "off", "buffer", "batch". Throws Error{usage} that lists them.
Offload parse_offload(std::string_view name);
const char* name_of(Offload offload) noexcept;
/// "cbc-encrypt", "ctr32", ...
const char* name_of(aes::Op op) noexcept;

/// How often each backend was called since the process started, by every Chain. Relaxed counters, in every build:
/// a test that forces a backend can prove that it ran, `nbdkit -D crypt.stats=1` prints them.
struct Calls {
  std::atomic<std::uint64_t> offload[aes::kOps] = {};  // calls of the offload kernel
  std::atomic<std::uint64_t> blocks[aes::kOps] = {};   // calls of encrypt() and decrypt() made on behalf of a mode
  std::atomic<std::uint64_t> fused = 0;                // calls of kernels that do an authenticated mode in one pass
};
/// The counters of a backend in aes::built(). All other backends (tests make their own) share one set.
Calls& calls_of(const aes::Backend& backend) noexcept;

/// True when Chain can keep the limits: align and iv_align are powers of two up to 64, overread is at most 1024,
/// max_bytes at least a block; fetch is a power of two that divides max_bytes. A kernel that asks for more is not used.
bool can_honour(const aes::Limits& limits) noexcept;

/// Wipes what the functions of a backend left of the keys in vector registers and on the stack below the caller's
/// frame. Called once, where keys were used for the last time.
void forget_keys(const aes::Backend& backend) noexcept;

class Chain {
 public:
  Chain(const aes::Backend& backend, aes::Op op, Offload offload) noexcept;

  /// Runs the operation on a batch. Shapes and aliasing as in aes::Run; any alignment. Never fails.
  /// Bounces what the kernel's limits forbid and splits at max_bytes: first by count, then inside a unit, carrying iv.
  void run(const aes::Key& key, const aes::Run& batch) const noexcept;

  const aes::Backend& backend() const noexcept { return *backend_; }

 private:
  /// `readable_behind`: bytes behind the batch's input that belong to the caller's buffer as well.
  void run_whole(const aes::Key& key, const aes::Run& batch, std::size_t readable_behind) const noexcept;
  void run_within_limits(const aes::Key& key, const aes::Run& batch, std::size_t readable_behind) const noexcept;
  void bounce(const aes::Key& key, const aes::Run& batch) const noexcept;
  void call_kernel(const aes::Key& key, const aes::Run& piece) const noexcept;

  const aes::Backend* backend_;
  Calls* calls_;
  aes::Kernel kernel_;          // null: the generic mode does the work
  generic::Mode generic_mode_;  // one block a call for Offload::off
  aes::Op op_;
  Offload offload_;
  bool limited_;  // the kernel has limits at all
};

}  // namespace nbdcrypt::modes
