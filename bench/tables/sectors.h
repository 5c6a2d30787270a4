// SPDX-License-Identifier: Apache-2.0
//
// The sector benchmark's cells: which ciphers, sector sizes and directions, and the data that they work on.
// Everything goes through modes::SectorCipher, IVs and tweaks included, as a volume does it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "bench/tables/row.h"
#include "modes/sector_cipher.h"

namespace nbdcrypt::bench {

using modes::Byte;

/// Fits the second-level cache of anything from 256 KiB up, and is what a volume hands over at a time.
inline constexpr std::size_t kWorkingSetBytes = 128 * 1024;
/// No cache holds this; passes go through it in such steps.
inline constexpr std::size_t kMemorySetBytes = 64 << 20;

struct SectorCase {
  std::string cipher;  // "aes-xts-plain64"
  std::size_t key_bits = 0;
  std::uint32_t sector_bytes = 0;
  bool encrypt = true;

  /// Of one AES key: half the key of XTS.
  std::size_t aes_key_bits() const;
  std::size_t sectors() const noexcept { return kWorkingSetBytes / sector_bytes; }
  /// The fields that say which cell it is.
  Row row(const char* table, const std::string& library, const std::string& backend) const;
};

/// {xts-plain64 256 and 512 bits, cbc-essiv:sha256 128 and 256, ecb 128 and 256} x {512, 4096} x {enc, dec}.
std::vector<SectorCase> sector_cases();

/// Keys for everybody: no two equal halves (XTS), nothing random. The second is what essiv:sha256 would hash the key
/// to, as far as its length goes; a benchmark does not need the hash itself.
std::vector<Byte> bench_key(std::size_t bits);
std::vector<Byte> bench_essiv_key();

/// kWorkingSetBytes of data without a pattern, always the same.
std::vector<Byte> bench_data();

std::unique_ptr<modes::SectorCipher> make_cipher(const SectorCase& cell, const aes::Backend& backend,
                                                 modes::Offload offload);

/// One pass over `data` in place, in the cell's direction.
void run_cipher(const modes::SectorCipher& cipher, bool encrypt, std::uint64_t first_sector, std::span<Byte> data);

/// Speed, and what part of bench/limit it is where that is known.
Row& set_speed(Row& row, const SectorCase& cell, const std::string& backend, double mb_per_s);

/// The rows of one backend: every cell with offload off, buffer and batch, and batch once more on data in memory,
/// measured by turns; `ratio` is over off.
/// Throws std::runtime_error when any of them does not agree with the generic backend, before it measures anything.
std::vector<Row> sector_rows(const aes::Backend& backend, double seconds);

}  // namespace nbdcrypt::bench
