// SPDX-License-Identifier: Apache-2.0
//
// The chaining modes in software, over any backend's encrypt() and decrypt(): what Chain runs where a backend has no
// offload kernel of its own, and the stock path (one block a call) for comparison. Each mode is written once, in the
// file of its name, for any number of blocks a call.
#pragma once

#include <cstddef>

#include "aes/backend.h"

namespace nbdcrypt::modes::generic {

/// Blocks a call of the batched modes, a compromise between call overhead and the first-level cache: 64 masks are
/// 1 KiB of stack, two 512-byte sectors of XTS.
inline constexpr std::size_t kBlocksPerCall = 64;
/// Units side by side in the modes whose units are serial (CBC encryption, CFB encryption, OFB). Not more: at a
/// 4096-byte stride all of them fall into one set of the first-level cache.
inline constexpr std::size_t kUnitsPerCall = 16;

/// A mode over backend.encrypt() and decrypt(). Shapes, aliasing and what iv becomes as in aes::Run; any alignment.
/// Returns how many times it called the backend. Never fails.
using Mode = std::size_t (*)(const aes::Backend& backend, const aes::Key& key, const aes::Run& batch) noexcept;

/// A mode in two forms: one block a call, and as many as the mode's data dependence allows.
struct Forms {
  Mode single, batched;
};

extern const Forms ecb_encrypt, ecb_decrypt;  // ecb.cpp
extern const Forms cbc_encrypt, cbc_decrypt;  // cbc.cpp
extern const Forms cfb_encrypt, cfb_decrypt;  // cfb.cpp, 128-bit segments
extern const Forms ofb;                       // ofb.cpp
extern const Forms ctr, ctr32;                // ctr.cpp
extern const Forms xts_encrypt, xts_decrypt;  // xts.cpp

}  // namespace nbdcrypt::modes::generic
