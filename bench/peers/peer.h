// SPDX-License-Identifier: Apache-2.0
//
// Other libraries doing the work of a SectorCipher by the best that their public interfaces allow: the key schedule is
// kept, every sector gets its IV, and essiv's IVs are made by one ECB call over the whole batch, as ours are.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bench/tables/sectors.h"

namespace nbdcrypt::bench {

class Peer {
 public:
  virtual ~Peer() = default;
  /// Name and version of the library.
  virtual std::string name() const = 0;
  /// One pass over whole sectors in place, in the cell's direction. Throws std::runtime_error when the library refuses.
  virtual void run(std::uint64_t first_sector, std::vector<Byte>& data) = 0;
};

std::unique_ptr<Peer> make_openssl(const SectorCase& cell);
std::unique_ptr<Peer> make_libgcrypt(const SectorCase& cell);
/// Null for a cell that the library does not have: GnuTLS has no ECB, ipsec-mb no XTS.
std::unique_ptr<Peer> make_gnutls(const SectorCase& cell);
std::unique_ptr<Peer> make_ipsec_mb(const SectorCase& cell);
/// All that have the cell, of the libraries that were there at build time.
std::vector<std::unique_ptr<Peer>> make_peers(const SectorCase& cell);

/// What they need to know of a cell.
struct PeerPlan {
  enum class Iv { none, plain64, essiv } iv;
  bool xts;
  std::size_t cipher_bits;  // of one AES key: half the key of XTS
};
PeerPlan plan_of(const SectorCase& cell);

/// Little-endian sector numbers, 16 bytes each, counted in 512-byte units: plain64's IVs, and essiv's before
/// encryption.
void fill_numbers(const SectorCase& cell, std::uint64_t first_sector, std::vector<Byte>& iv);

}  // namespace nbdcrypt::bench
