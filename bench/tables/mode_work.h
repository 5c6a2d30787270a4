// SPDX-License-Identifier: Apache-2.0
//
// What the tables of modes time: one mode in one direction over a message. Ours is here; other libraries do the same
// work in bench/peers.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "bench/tables/row.h"
#include "modes/chain.h"

namespace nbdcrypt::bench {

enum class Work { encrypt, decrypt, authenticate };
const char* name_of(Work work) noexcept;  // "enc", "dec", "auth"

struct ModeCell {
  std::string mode;            // "ECB", "CBC", "CFB", "OFB", "CTR", "XTS", "CCM", "EAX", "GCM", "OCB"
  std::size_t key_bits = 128;  // of one AES key; XTS has two
  Work work = Work::encrypt;

  bool authenticated() const;
  std::size_t key_bytes() const { return key_bits / 8 * (mode == "XTS" ? 2 : 1); }
  /// The fields that say which cell it is.
  Row row(const char* table, const std::string& library, const std::string& backend) const;
};

/// All ten modes, encryption and decryption, and authentication of the four that do it.
std::vector<ModeCell> mode_cells(std::size_t key_bits);

inline constexpr std::size_t kMessageBytes = 16 * 1024;

/// A pass over the first `bytes` (whole blocks, at most kMessageBytes) of a message of its own: in place, but
/// decryption of the authenticated modes, which goes from one buffer to another, so that its tag stays right.
using Pass = std::function<void(std::size_t bytes)>;

/// Throws std::runtime_error when what the backend makes of a message differs from the generic backend.
Pass make_pass(const ModeCell& cell, const aes::Backend& backend, modes::Offload offload = modes::Offload::batch);

/// What a pass over `bytes` makes of the benchmark's data with our generic backend, and the tag: what others must give
/// as well. Decryption gives the plaintext back, and authentication the tag alone.
std::vector<aes::Byte> expected_result(const ModeCell& cell, std::size_t bytes);

/// The key, IV or nonce, and data that everybody works with.
std::vector<aes::Byte> mode_key(const ModeCell& cell);
std::vector<aes::Byte> mode_iv(const ModeCell& cell);
std::vector<aes::Byte> mode_data(std::size_t bytes);

}  // namespace nbdcrypt::bench
