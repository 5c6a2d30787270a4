// SPDX-License-Identifier: Apache-2.0
#include "bench/tables/sectors.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <stdexcept>

#include "aes/registry.h"
#include "bench/limit/limit.h"
#include "bench/tables/timing.h"

namespace nbdcrypt::bench {
namespace {

constexpr modes::Offload kLevels[] = {modes::Offload::off, modes::Offload::buffer, modes::Offload::batch};

// A fast wrong answer is worth nothing: both directions against the portable backend, one block at a time.
void require_right_answer(const SectorCase& cell, const modes::SectorCipher& cipher) {
  const auto reference = make_cipher(cell, *aes::by_name("generic"), modes::Offload::off);
  std::vector<Byte> expected = bench_data(), got = bench_data();
  run_cipher(*reference, cell.encrypt, 7, expected);
  run_cipher(cipher, cell.encrypt, 7, got);
  if (got != expected) {
    throw std::runtime_error(std::string(cipher.backend().name) + ": " + cell.cipher + ": differs from generic");
  }
}

// One for all cells: filling it takes longer than most of them.
std::vector<Byte>& memory_set() {
  static std::vector<Byte> data = [] {
    const std::vector<Byte> piece = bench_data();
    std::vector<Byte> all(kMemorySetBytes);
    for (auto at = all.begin(); at != all.end(); at += kWorkingSetBytes) std::copy(piece.begin(), piece.end(), at);
    return all;
  }();
  return data;
}

std::vector<Row> rows_of_cell(const SectorCase& cell, const aes::Backend& backend, double seconds) {
  std::vector<std::unique_ptr<modes::SectorCipher>> ciphers;
  std::vector<std::function<void()>> passes;
  std::vector<Byte> data = bench_data();
  std::uint64_t sector = 0;
  for (const modes::Offload level : kLevels) {
    ciphers.push_back(make_cipher(cell, backend, level));
    require_right_answer(cell, *ciphers.back());
    passes.push_back([&, cipher = ciphers.back().get()] {
      run_cipher(*cipher, cell.encrypt, sector, data);
      sector += cell.sectors();
    });
  }
  std::size_t offset = 0;
  passes.push_back([&] {
    run_cipher(*ciphers.back(), cell.encrypt, sector, std::span(memory_set()).subspan(offset, kWorkingSetBytes));
    sector += cell.sectors();
    offset = (offset + kWorkingSetBytes) % kMemorySetBytes;
  });
  const std::vector<Measurement> results = measure(passes, kWorkingSetBytes, seconds);
  std::vector<Row> rows;
  for (std::size_t i = 0; i < results.size(); ++i) {
    Row row = cell.row("sectors", "nbdcrypt", backend.name);
    if (i == std::size(kLevels)) row.set("working_set", kMemorySetBytes);
    row.set("offload", modes::name_of(kLevels[std::min(i, std::size(kLevels) - 1)]));
    set_speed(row, cell, backend.name, results[i].mb_per_s);
    rows.push_back(row.set("ratio", results[i].mb_per_s / results[0].mb_per_s).set("spread", results[i].spread));
  }
  return rows;
}

}  // namespace

std::size_t SectorCase::aes_key_bits() const {
  return modes::parse_cipher_spec(cipher).mode == modes::Mode::xts ? key_bits / 2 : key_bits;
}

Row& set_speed(Row& row, const SectorCase& cell, const std::string& backend, double mb_per_s) {
  row.set("mb_per_s", mb_per_s).set("cycles_per_byte", cycles_per_byte(mb_per_s));
  const double limit = limit_mb_per_s(backend, cell.aes_key_bits());
  return std::isfinite(limit) ? row.set("fraction_of_limit", mb_per_s / limit) : row;
}

Row SectorCase::row(const char* table, const std::string& library, const std::string& backend) const {
  Row row;
  row.set("table", table).set("library", library).set("backend", backend).set("mode", cipher);
  row.set("direction", encrypt ? "enc" : "dec").set("key_bits", key_bits);
  row.set("unit_bytes", std::size_t{sector_bytes}).set("units", sectors()).set("working_set", kWorkingSetBytes);
  return row;
}

std::vector<SectorCase> sector_cases() {
  const std::pair<const char*, std::size_t> ciphers[] = {
      {"aes-xts-plain64", 256},      {"aes-xts-plain64", 512}, {"aes-cbc-essiv:sha256", 128},
      {"aes-cbc-essiv:sha256", 256}, {"aes-ecb", 128},         {"aes-ecb", 256}};
  std::vector<SectorCase> cells;
  for (const auto& [cipher, key_bits] : ciphers) {
    for (const std::uint32_t sector_bytes : {512u, 4096u}) {
      for (const bool encrypt : {true, false}) cells.push_back({cipher, key_bits, sector_bytes, encrypt});
    }
  }
  return cells;
}

std::vector<Byte> bench_key(std::size_t bits) {
  std::vector<Byte> key(bits / 8);
  for (std::size_t i = 0; i < key.size(); ++i) key[i] = static_cast<Byte>(7 * i + 1);
  return key;
}

std::vector<Byte> bench_essiv_key() {
  std::vector<Byte> key(32);
  for (std::size_t i = 0; i < key.size(); ++i) key[i] = static_cast<Byte>(251 - 5 * i);
  return key;
}

std::vector<Byte> bench_data() {
  std::mt19937 random(1);
  std::vector<Byte> data(kWorkingSetBytes);
  for (Byte& byte : data) byte = static_cast<Byte>(random());
  return data;
}

std::unique_ptr<modes::SectorCipher> make_cipher(const SectorCase& cell, const aes::Backend& backend,
                                                 modes::Offload offload) {
  const modes::CipherSpec spec = modes::parse_cipher_spec(cell.cipher);
  const std::vector<Byte> key = bench_key(cell.key_bits), essiv_key = bench_essiv_key();
  modes::SectorKeys keys{key, {}};
  if (spec.iv == modes::IvKind::essiv) keys.essiv_key = essiv_key;
  return std::make_unique<modes::SectorCipher>(backend, spec, modes::SectorLayout{.sector_bytes = cell.sector_bytes},
                                               keys, offload);
}

void run_cipher(const modes::SectorCipher& cipher, bool encrypt, std::uint64_t first_sector, std::span<Byte> data) {
  if (encrypt) {
    cipher.encrypt(first_sector, data, data.data());
  } else {
    cipher.decrypt(first_sector, data, data.data());
  }
}

std::vector<Row> sector_rows(const aes::Backend& backend, double seconds) {
  std::vector<Row> rows;
  for (const SectorCase& cell : sector_cases()) {
    for (Row& row : rows_of_cell(cell, backend, seconds)) rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace nbdcrypt::bench
