// SPDX-License-Identifier: Apache-2.0
//
// Packets of a VPN in parallel without reordering, as pcrypt's test of 2009: CBC encryption and an HMAC over each, on
// the threads of a base::Pipeline, the order checked by sequence numbers when they come back.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "aes/backend.h"
#include "bench/tables/row.h"

namespace nbdcrypt::bench {

/// A cipher and a MAC, as IPsec pairs them.
struct Suite {
  const char* name;
  std::size_t key_bits;
  const char* digest;  // OpenSSL's name
  std::size_t digest_bytes, tag_bytes;
};
inline constexpr Suite kSuites[] = {{"AES-192-CBC HMAC-SHA1-96", 192, "SHA1", 20, 12},
                                    {"AES-256-CBC HMAC-SHA256-128", 256, "SHA256", 32, 16}};

enum class Ways { one, both };

struct PacketCell {
  const Suite* suite;
  std::size_t payload_bytes;  // 1420 or 128
  Ways ways;
};

/// Packets a second, and a second of processor time: on a machine that others use as well, only the latter says what
/// the way of working costs.
struct Rate {
  double per_s, per_cpu_s;
  std::uint64_t packets;
};

/// `count` independent processes together, one thread each.
Rate run_processes(const PacketCell& cell, const aes::Backend& backend, unsigned count, double seconds);
/// A pipeline with so many workers. `packets`: how many have to be committed at least, whatever time that takes. Throws
/// std::runtime_error when one comes out of order or its tag is wrong.
Rate run_pipeline(const PacketCell& cell, const aes::Backend& backend, unsigned workers, double seconds,
                  std::uint64_t packets);

/// Both by turns for all cells and 1 to all processors; `of_processes` (and `of_processes_cpu`, of a processor's
/// second) are the medians of the turns' ratios.
std::vector<Row> vpn_rows(const aes::Backend& backend, double seconds);

/// Ten million packets of 128 bytes both ways: that all came back in order.
std::vector<Row> order_rows(const aes::Backend& backend);

}  // namespace nbdcrypt::bench
