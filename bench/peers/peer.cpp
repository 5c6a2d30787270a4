// SPDX-License-Identifier: Apache-2.0
#include "bench/peers/peer.h"

#include <algorithm>

#include "base/bytes.h"

namespace nbdcrypt::bench {

PeerPlan plan_of(const SectorCase& cell) {
  const modes::CipherSpec spec = modes::parse_cipher_spec(cell.cipher);
  const bool xts = spec.mode == modes::Mode::xts;
  const PeerPlan::Iv iv = spec.iv == modes::IvKind::none    ? PeerPlan::Iv::none
                          : spec.iv == modes::IvKind::essiv ? PeerPlan::Iv::essiv
                                                            : PeerPlan::Iv::plain64;
  return {iv, xts, xts ? cell.key_bits / 2 : cell.key_bits};
}

void fill_numbers(const SectorCase& cell, std::uint64_t first_sector, std::vector<Byte>& iv) {
  const std::uint64_t step = cell.sector_bytes / 512;
  std::fill(iv.begin(), iv.end(), Byte{0});
  for (std::size_t i = 0; i < iv.size() / 16; ++i)
    base::store_le<std::uint64_t>(&iv[16 * i], (first_sector + i) * step);
}

}  // namespace nbdcrypt::bench
