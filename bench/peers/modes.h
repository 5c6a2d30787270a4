// SPDX-License-Identifier: Apache-2.0
//
// Other libraries doing the work of a ModeCell. The key schedule is kept; each message sets its IV or nonce.
#pragma once

#include <memory>
#include <string>

#include "bench/tables/mode_work.h"

namespace nbdcrypt::bench {

/// A pass as make_pass() gives, or an empty function when the library has not got the mode. Throws std::runtime_error
/// when the library's result differs from ours.
Pass openssl_pass(const ModeCell& cell);
Pass libgcrypt_pass(const ModeCell& cell);

std::string openssl_name();
std::string libgcrypt_name();

/// Ours, OpenSSL and libgcrypt by turns on messages of 16 KiB; `ratio` is our throughput over the peer's.
std::vector<Row> mode_peer_rows(const aes::Backend& backend, std::size_t key_bits, double seconds);

}  // namespace nbdcrypt::bench
