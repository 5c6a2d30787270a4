// SPDX-License-Identifier: Apache-2.0
//
// Encrypts and decrypts sectors of a volume: IVs, chains and keys in one immutable object, shared by all threads
// without locks. XTS tweaks and ESSIV IVs are the same thing here: one batched ECB call over the sector numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "aes/backend.h"
#include "modes/chain.h"
#include "modes/cipher_spec.h"
#include "modes/iv.h"

namespace nbdcrypt::modes {

/// How sectors are numbered.
struct SectorLayout {
  std::uint32_t sector_bytes = 512;  // 512, 1024, 2048 or 4096
  std::uint64_t first_iv = 0;     // IV number of sector 0, in 512-byte units whatever the sector size (iv_tweak, skip)
  bool iv_large_sectors = false;  // IVs count sectors instead of 512-byte units (dm-crypt: iv_large_sectors)
};

/// Finished keys; this layer hashes nothing. `key`: the volume key, as long as check_key_size() allows; XTS splits it
/// in two. `essiv_key`: the hash of the whole volume key, 16, 24 or 32 bytes, for essiv alone.
struct SectorKeys {
  std::span<const Byte> key;
  std::span<const Byte> essiv_key;
};

class SectorCipher {
 public:
  /// Throws Error{usage} for keys or sizes that do not fit. Holds round keys: construct it in a base::Secret.
  SectorCipher(const aes::Backend& backend, const CipherSpec& spec, const SectorLayout& layout, const SectorKeys& keys,
               Offload offload = Offload::batch);
  SectorCipher(const SectorCipher&) = delete;  // no second copy of the keys
  SectorCipher& operator=(const SectorCipher&) = delete;

  /// Encrypts whole sectors. in: [n * sector_bytes], out: the same size, may equal in, must not partly overlap it;
  /// bytes behind the last whole sector are left alone. first_sector counts sectors of sector_bytes from sector 0 of
  /// the layout; IV numbers are modulo 2^64. Any alignment. Never fails.
  void encrypt(std::uint64_t first_sector, std::span<const Byte> in, Byte* out) const noexcept;
  void decrypt(std::uint64_t first_sector, std::span<const Byte> in, Byte* out) const noexcept;

  std::uint32_t sector_bytes() const noexcept { return layout_.sector_bytes; }
  const aes::Backend& backend() const noexcept { return encrypt_.backend(); }

 private:
  /// Sectors whose IVs are made at a time: 1 KiB of stack, and 256 KiB of 4096-byte sectors in one batch.
  static constexpr std::size_t kBatchSectors = 64;

  /// An encryption of the numbers on their way to the chain.
  struct IvCipher {
    Chain ecb;
    aes::Key key;
  };

  void run(const Chain& chain, std::uint64_t first_sector, std::span<const Byte> in, Byte* out) const noexcept;
  void fill_ivs(std::uint64_t first_sector, std::size_t count, Byte* iv) const noexcept;

  IvKind iv_;
  SectorLayout layout_;
  Chain encrypt_, decrypt_;
  aes::Key key_;
  std::optional<IvCipher> iv_cipher_;     // essiv: the hashed key; eboiv: the volume key
  std::optional<IvCipher> tweak_cipher_;  // XTS: the second half of the key
};

}  // namespace nbdcrypt::modes
