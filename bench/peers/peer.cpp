// SPDX-License-Identifier: Apache-2.0
#include "bench/peers/peer.h"

#include <algorithm>

#include "base/bytes.h"

namespace nbdcrypt::bench {

std::vector<std::unique_ptr<Peer>> make_peers(const SectorCase& cell) {
  std::vector<std::unique_ptr<Peer>> peers;
  peers.push_back(make_openssl(cell));
  peers.push_back(make_libgcrypt(cell));
#ifdef NBDCRYPT_GNUTLS
  peers.push_back(make_gnutls(cell));
#endif
#ifdef NBDCRYPT_IPSEC_MB
  peers.push_back(make_ipsec_mb(cell));
#endif
  std::erase(peers, nullptr);
  return peers;
}

PeerPlan plan_of(const SectorCase& cell) {
  const modes::CipherSpec spec = modes::parse_cipher_spec(cell.cipher);
  const PeerPlan::Iv iv = spec.iv == modes::IvKind::none    ? PeerPlan::Iv::none
                          : spec.iv == modes::IvKind::essiv ? PeerPlan::Iv::essiv
                                                            : PeerPlan::Iv::plain64;
  return {iv, spec.mode == modes::Mode::xts, cell.aes_key_bits()};
}

void fill_numbers(const SectorCase& cell, std::uint64_t first_sector, std::vector<Byte>& iv) {
  const std::uint64_t step = cell.sector_bytes / 512;
  std::fill(iv.begin(), iv.end(), Byte{0});
  for (std::size_t i = 0; i < iv.size() / 16; ++i)
    base::store_le<std::uint64_t>(&iv[16 * i], (first_sector + i) * step);
}

}  // namespace nbdcrypt::bench
