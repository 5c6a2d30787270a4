// SPDX-License-Identifier: Apache-2.0
#include "bench/accelerators/cells.h"

#include <sys/utsname.h>

#include <cstring>
#include <memory>
#include <stdexcept>

#include "aes/key_schedule.h"

namespace nbdcrypt::bench {
namespace {

using aes::Byte;
using aes::kBlockBytes;

constexpr std::size_t kMaxBytes = 16 * 4096;

/// Aligned as a sector buffer is.
struct Buffers {
  alignas(64) Byte in[kMaxBytes];
  alignas(64) Byte out[kMaxBytes];
  alignas(64) Byte iv[kBlockBytes * 16];
};

void fill(Byte* bytes, std::size_t size, unsigned seed) {
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<Byte>((i + seed) * 2654435761u >> 13);
}

aes::Key make_key(const aes::Backend& backend, std::size_t bits, unsigned seed) {
  Byte bytes[32];
  fill(bytes, sizeof bytes, seed);
  aes::Key key;
  if (!aes::make_key(backend, {bytes, bits / 8}, key)) throw std::runtime_error("make_key");
  return key;
}

bool is_xts(aes::Op op) { return op == aes::xts_enc || op == aes::xts_dec; }

/// Counts the cell as one region, and leaves the result in `buffers`.
std::size_t count_one(Counter& counter, const aes::Backend& backend, const Cell& cell, Buffers& buffers) {
  fill(buffers.in, cell.unit * cell.units, 1);
  fill(buffers.iv, sizeof buffers.iv, 2);
  const aes::Key key = make_key(backend, cell.key_bits, 3), tweak_key = make_key(backend, cell.key_bits, 4);
  const aes::Run run{buffers.in, buffers.out, buffers.iv, cell.unit, cell.units};
  return counter.count([&] {
    if (is_xts(cell.op)) backend.encrypt(tweak_key, buffers.iv, buffers.iv, cell.units);
    backend.offload.of[cell.op](key, run);
  });
}

std::string name_of(const Cell& cell) {
  return std::string(cell.mode) + " " + cell.direction + " " + std::to_string(cell.key_bits) + " bits " +
         std::to_string(cell.units) + " x " + std::to_string(cell.unit) + " bytes";
}

}  // namespace

std::vector<Cell> chain_cells() {
  constexpr Cell kColumns[] = {{aes::ecb_enc, "ecb", "enc"}, {aes::ecb_dec, "ecb", "dec"}, {aes::cbc_enc, "cbc", "enc"},
                               {aes::cbc_dec, "cbc", "dec"}, {aes::ctr, "ctr", "enc"},     {aes::ctr, "ctr", "dec"},
                               {aes::xts_enc, "xts", "enc"}, {aes::xts_dec, "xts", "dec"}};
  std::vector<Cell> cells;
  for (const std::size_t bits : {128u, 192u, 256u}) {
    for (const std::size_t bytes : {16u, 64u, 256u, 1024u, 8192u}) {
      for (const Cell& column : kColumns) {
        cells.push_back({column.op, column.mode, column.direction, bits, bytes, 1});
      }
    }
  }
  return cells;
}

std::vector<Cell> other_cells() {
  constexpr Cell kCells[] = {{aes::cfb_enc, "cfb", "enc", 0, 8192, 1}, {aes::cfb_dec, "cfb", "dec", 0, 8192, 1},
                             {aes::ofb, "ofb", "enc", 0, 8192, 1},     {aes::ctr32, "ctr32", "enc", 0, 8192, 1},
                             {aes::cbc_enc, "cbc", "enc", 0, 512, 16}, {aes::cbc_enc, "cbc", "enc", 0, 4096, 16}};
  std::vector<Cell> cells;
  for (const std::size_t bits : {128u, 192u, 256u}) {
    for (Cell cell : kCells) {
      cell.key_bits = bits;
      cells.push_back(cell);
    }
  }
  return cells;
}

Row Result::row() const {
  utsname system{};
  uname(&system);
  Row row;
  row.set("table", "accelerators").set("machine", system.machine).set("backend", backend->name);
  row.set("mode", cell.mode).set("direction", cell.direction).set("key_bits", cell.key_bits);
  row.set("unit", cell.unit).set("units", cell.units);
  row.set("insns_per_byte", per_byte).set("table_insns_per_byte", baseline_per_byte).set("ratio", ratio());
  return row;
}

std::vector<Result> count_cells(Counter& counter, const aes::Backend& backend, const aes::Backend& baseline,
                                const std::vector<Cell>& cells) {
  struct Pair {
    Cell cell;
    std::size_t region, baseline_region;
  };
  const auto ours = std::make_unique<Buffers>(), theirs = std::make_unique<Buffers>();
  std::vector<Pair> pairs;
  for (const Cell& cell : cells) {
    if (!backend.offload.of[cell.op]) continue;
    const std::size_t region = count_one(counter, backend, cell, *ours);
    pairs.push_back({cell, region, count_one(counter, baseline, cell, *theirs)});
    if (std::memcmp(ours->out, theirs->out, cell.unit * cell.units) != 0) {
      throw std::runtime_error(std::string(backend.name) + " and " + baseline.name + " differ: " + name_of(cell));
    }
  }
  const std::vector<Counter::Region> regions = counter.regions();
  std::vector<Result> results;
  for (const Pair& pair : pairs) {
    const double bytes = static_cast<double>(pair.cell.unit * pair.cell.units);
    results.push_back({pair.cell, &backend, static_cast<double>(regions[pair.region].instructions) / bytes,
                       static_cast<double>(regions[pair.baseline_region].instructions) / bytes});
  }
  return results;
}

}  // namespace nbdcrypt::bench
