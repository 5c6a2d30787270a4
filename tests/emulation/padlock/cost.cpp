// SPDX-License-Identifier: Apache-2.0
#include "tests/emulation/padlock/cost.h"

#include <cstdlib>
#include <memory>
#include <stdexcept>

#include "aes/registry.h"
#include "modes/sector_cipher.h"
#include "tests/emulation/padlock/silicon.h"

namespace nbdcrypt::test::padlock {
namespace {

constexpr std::size_t kSectorBytes = 4096, kBatchBytes = kCostSectors * kSectorBytes;

using Buffer = std::unique_ptr<modes::Byte, decltype(&std::free)>;

const aes::Backend& backend() {
  const aes::Backend* const found = aes::by_name("via-padlock");
  if (found == nullptr) throw std::runtime_error("via-padlock: not there");
  return *found;
}

class Batch {
 public:
  Batch(const std::string& cipher, modes::Offload offload)
      : cipher_(backend(), modes::parse_cipher_spec(cipher), {.sector_bytes = kSectorBytes},
                {.key = std::vector<modes::Byte>(32, ++keys), .essiv_key = std::vector<modes::Byte>(32, ++keys)},
                offload),
        data_(static_cast<modes::Byte*>(std::aligned_alloc(kSectorBytes, kBatchBytes)), std::free) {
    std::fill_n(data_.get(), kBatchBytes, modes::Byte{1});
  }

  Cost run(bool encrypts) {
    reset_counts();
    const std::span<const modes::Byte> in(data_.get(), kBatchBytes);
    encrypts ? cipher_.encrypt(0, in, data_.get()) : cipher_.decrypt(0, in, data_.get());
    const Counts spent = counts();
    return {spent.xcrypts, spent.reloads};
  }

 private:
  static inline modes::Byte keys = 0;
  modes::SectorCipher cipher_;
  Buffer data_;
};

}  // namespace

std::vector<CostRow> measure_costs() {
  // Two keys, so that the emulation has seen a load of EFLAGS.
  Batch("aes-xts-plain64", modes::Offload::batch).run(true);
  std::vector<CostRow> rows;
  for (const char* cipher : {"aes-cbc-plain64", "aes-cbc-essiv:sha256", "aes-xts-plain64"}) {
    for (const bool encrypts : {true, false}) {
      for (const auto offload : {modes::Offload::off, modes::Offload::buffer, modes::Offload::batch}) {
        Batch batch(cipher, offload);
        const Cost first = batch.run(encrypts), next = batch.run(encrypts);
        rows.push_back({cipher, encrypts ? "encrypt" : "decrypt", offload, first, next});
      }
    }
  }
  return rows;
}

}  // namespace nbdcrypt::test::padlock
