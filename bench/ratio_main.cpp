// SPDX-License-Identifier: Apache-2.0
//
// Two backends side by side in one process, over each operation of the contract on 16 units of 4096 bytes: what one
// gains over the other on this processor. They take turns, and the best of many short runs counts, so that what else
// the machine does falls on both.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "aes/key_schedule.h"
#include "modes/backend_choice.h"
#include "modes/chain.h"

namespace nbdcrypt::bench {
namespace {

constexpr std::size_t kUnitBytes = 4096, kUnits = 16, kBytes = kUnitBytes * kUnits;
constexpr int kTurns = 60;

struct Case {
  const aes::Backend& backend;
  aes::Op op;
  std::size_t key_bytes;
};

/// MB/s of one short run.
double rate_of(const Case& test, aes::Byte* data) {
  alignas(16) aes::Byte iv[16 * kUnits] = {1};
  aes::Key key;
  aes::make_key(test.backend, std::vector<aes::Byte>(test.key_bytes, 7), key);
  const modes::Chain chain(test.backend, test.op, modes::Offload::batch);
  constexpr int kRuns = 8;
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < kRuns; ++i) {
    chain.run(key, {.in = data, .out = data, .iv = iv, .unit = kUnitBytes, .count = kUnits});
  }
  return kRuns * kBytes / 1e6 / std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void print_row(const aes::Backend& one, const aes::Backend& other, aes::Op op, std::size_t key_bytes) {
  std::vector<aes::Byte> data(kBytes + 64);
  aes::Byte* const aligned = data.data() + 64 - reinterpret_cast<std::uintptr_t>(data.data()) % 64;
  double best = 0, best_other = 0;
  for (int turn = 0; turn < kTurns; ++turn) {
    best = std::max(best, rate_of({one, op, key_bytes}, aligned));
    best_other = std::max(best_other, rate_of({other, op, key_bytes}, aligned));
  }
  std::printf("%3zu  %-12s %10.0f %10.0f %6.2f\n", key_bytes * 8, modes::name_of(op), best, best_other,
              best / best_other);
}

int run(const std::string& name, const std::string& other_name) {
  const aes::Backend &one = modes::choose_backend(name), &other = modes::choose_backend(other_name);
  std::printf("MB/s, %zu units of %zu bytes, code of %zu bits\n", kUnits, kUnitBytes, 8 * sizeof(void*));
  std::printf("key  %-12s %10s %10s  ratio\n", "operation", one.name, other.name);
  for (const std::size_t key_bytes : {16u, 32u}) {
    for (unsigned op = 0; op < aes::kOps; ++op) print_row(one, other, static_cast<aes::Op>(op), key_bytes);
  }
  return 0;
}

}  // namespace
}  // namespace nbdcrypt::bench

int main(int argc, char** argv) {
  if (argc != 3) return std::fprintf(stderr, "usage: nbdcrypt-ratio BACKEND OTHER\n"), 1;
  try {
    return nbdcrypt::bench::run(argv[1], argv[2]);
  } catch (const std::exception& error) { return std::fprintf(stderr, "nbdcrypt-ratio: %s\n", error.what()), 1; }
}
