// SPDX-License-Identifier: Apache-2.0
//
// What is counted: single chains in the shape of the table of AES for SPE (2015; key size x bytes x mode x direction),
// the other chaining modes, and batches of sectors.
#pragma once

#include <vector>

#include "aes/backend.h"
#include "bench/accelerators/counter.h"
#include "bench/tables/row.h"

namespace nbdcrypt::bench {

struct Cell {
  aes::Op op = aes::ecb_enc;
  const char* mode = "";       // "ecb"
  const char* direction = "";  // "enc", "dec"
  std::size_t key_bits = 0, unit = 0, units = 0;

  bool operator==(const Cell&) const = default;
};

/// 128, 192 and 256 bits x 16, 64, 256, 1024 and 8192 bytes x ECB, CBC, CTR and XTS x both directions.
std::vector<Cell> chain_cells();
/// CFB and OFB at 8192 bytes, and CBC encryption of 16 sectors.
std::vector<Cell> other_cells();

/// A cell of two backends. XTS has the encryption of its tweak in it, as a request to a cipher has.
struct Result {
  Cell cell;
  const aes::Backend* backend;
  double per_byte, baseline_per_byte;  // instructions

  double ratio() const noexcept { return baseline_per_byte / per_byte; }
  Row row() const;
};

/// All cells that `backend` offloads. Checks that both backends give the same. Throws std::runtime_error.
std::vector<Result> count_cells(Counter& counter, const aes::Backend& backend, const aes::Backend& baseline,
                                const std::vector<Cell>& cells);

}  // namespace nbdcrypt::bench
