// SPDX-License-Identifier: Apache-2.0
//
// trace-check --counts FILE BACKEND
//   Runs everything that a backend does with several keys and data under the instruction counter, with trace=on, and
//   compares what was executed and accessed, instruction by instruction and address by address. For processors whose
//   machine code nothing else here can follow. BACKEND "planted" stands for a branch that depends on a secret.
// Exit code 0: the same for all secrets; 1: not, with a line for each function; 2: could not be told.
// It says nothing of paths that were not taken, and nothing of instructions whose time depends on their operands.
#include <cstring>
#include <functional>
#include <iostream>
#include <iterator>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "aes/registry.h"
#include "bench/accelerators/counter.h"

namespace {

using namespace nbdcrypt;
using aes::Byte;
using aes::kBlockBytes;

constexpr std::size_t kUnit = 16 * 37, kUnits = 11;  // neither fills groups of eight
constexpr unsigned kSecrets = 6;

/// The same memory for all secrets, so that addresses can be compared.
struct Memory {
  alignas(64) aes::Key key;
  alignas(64) Byte key_bytes[32];
  alignas(64) Byte in[kUnit * kUnits];
  alignas(64) Byte out[kUnit * kUnits];
  alignas(64) Byte iv[kBlockBytes * kUnits];
  alignas(64) Byte state[kBlockBytes];
} memory;

struct Function {
  std::string name;
  std::size_t key_bytes;
  bool public_iv;  // a counter, whose carries are known to everybody
  std::function<void()> call;
};

/// `secret` seeds all bytes but the IVs where they are public.
void fill(const aes::Backend& backend, const Function& function, unsigned secret) {
  std::mt19937 source(secret);
  const auto random = [&](Byte* to, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) to[i] = static_cast<Byte>(source());
  };
  random(memory.key_bytes, sizeof memory.key_bytes);
  random(memory.in, sizeof memory.in);
  random(memory.state, sizeof memory.state);
  if (function.public_iv) source.seed(0);
  random(memory.iv, sizeof memory.iv);
  backend.expand_key(memory.key, memory.key_bytes, function.key_bytes);
}

std::vector<Function> functions_of(const aes::Backend& backend) {
  constexpr const char* kNames[] = {"ecb_enc", "ecb_dec", "cbc_enc", "cbc_dec", "cfb_enc", "cfb_dec",
                                    "ofb",     "ctr",     "ctr32",   "xts_enc", "xts_dec"};
  static_assert(std::size(kNames) == aes::kOps);
  std::vector<Function> all;
  for (const std::size_t bytes : {16u, 24u, 32u}) {
    const auto add = [&](const std::string& name, bool public_iv, std::function<void()> call) {
      all.push_back({name + " " + std::to_string(8 * bytes), bytes, public_iv, std::move(call)});
    };
    add("expand_key", false, [&, bytes] { backend.expand_key(memory.key, memory.key_bytes, bytes); });
    add("encrypt", false, [&] { backend.encrypt(memory.key, memory.in, memory.out, 45); });
    add("decrypt", false, [&] { backend.decrypt(memory.key, memory.in, memory.out, 45); });
    for (unsigned op = 0; op < aes::kOps; ++op) {
      if (const aes::Kernel kernel = backend.offload.of[op]) {
        add(kNames[op], op == aes::ctr || op == aes::ctr32, [kernel] {
          kernel(memory.key, {memory.in, memory.out, memory.iv, kUnit, kUnits});
        });
      }
    }
    if (backend.ghash) {
      add("ghash", false, [&] { backend.ghash(memory.state, memory.key_bytes, memory.in, 45); });
    }
  }
  return all;
}

volatile Byte planted_sink;

std::vector<Function> planted() {
  return {{"planted", 16, false, [] {
             if (memory.in[0] & 1) planted_sink = 1;
           }}};
}

int check(bench::Counter& counter, const aes::Backend& backend, const std::vector<Function>& functions) {
  std::vector<std::size_t> first_regions;
  for (const Function& function : functions) {
    for (unsigned secret = 1; secret <= kSecrets; ++secret) {
      fill(backend, function, secret);
      const std::size_t region = counter.count(function.call);
      if (secret == 1) first_regions.push_back(region);
    }
  }
  const std::vector<bench::Counter::Region> regions = counter.regions();
  int differing = 0;
  std::uint64_t instructions = 0;
  for (std::size_t i = 0; i < functions.size(); ++i) {
    const bench::Counter::Region* const first = &regions[first_regions[i]];
    if (first->trace == 0) throw std::runtime_error("no traces; the counter needs trace=on");
    bool differs = false;
    for (unsigned n = 0; n < kSecrets; ++n) {
      differs |= first[n].trace != first->trace;
      instructions += first[n].instructions;
    }
    if (differs) std::cout << functions[i].name << ": what is executed or accessed depends on a secret\n";
    differing += differs;
  }
  std::cout << functions.size() << " functions, " << instructions << " instructions, " << differing << " differ\n";
  return differing > 0;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 4 || std::string_view(argv[1]) != "--counts") {
    throw std::runtime_error("usage: trace-check --counts FILE BACKEND");
  }
  bench::Counter counter(argv[2]);
  const bool plant = std::string_view(argv[3]) == "planted";
  const aes::Backend* const backend = aes::by_name(plant ? "generic" : argv[3]);
  if (!backend) throw std::runtime_error(std::string(argv[3]) + ": does not run here");
  return check(counter, *backend, plant ? planted() : functions_of(*backend));
} catch (const std::exception& error) {
  std::cerr << "trace-check: " << error.what() << '\n';
  return 2;
}
