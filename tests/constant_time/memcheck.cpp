// SPDX-License-Identifier: Apache-2.0
//
// Constant time, checked by a machine: to Valgrind's memcheck keys and data are memory that was never written, and it
// reports each branch and each address that depends on such memory (the method of A. Langley's ctgrind). Run as
//   valgrind --error-exitcode=9 constant-time BACKEND [plant]
// plant: a branch on a byte of the key, to show that the check finds it. Lengths, pointers and sector numbers are
// public, and so are the counters of CTR.
#include <valgrind/memcheck.h>

#include <cstdio>
#include <cstring>
#include <string_view>
#include <vector>

#include "aes/key_schedule.h"
#include "aes/registry.h"
#include "modes/aead.h"
#include "modes/sector_cipher.h"

namespace nbdcrypt {
namespace {

using aes::Byte;
using Bytes = std::vector<Byte>;

Bytes secret(std::size_t size) {
  Bytes bytes(size, 0x5c);
  VALGRIND_MAKE_MEM_UNDEFINED(bytes.data(), bytes.size());
  return bytes;
}

constexpr std::size_t kUnits[] = {16, 48, 512, 4096};
constexpr std::size_t kCounts[] = {1, 2, 7, 16, 33};

bool counts(unsigned op) { return op == aes::ctr || op == aes::ctr32; }

/// Every operation through `offload`. Returns how many batches.
unsigned run_chains(const aes::Backend& backend, modes::Offload offload) {
  unsigned batches = 0;
  for (const std::size_t key_bytes : {16u, 24u, 32u}) {
    aes::Key key;
    aes::make_key(backend, secret(key_bytes), key);
    for (unsigned op = 0; op < aes::kOps; ++op) {
      const modes::Chain chain(backend, static_cast<aes::Op>(op), offload);
      for (const std::size_t unit : kUnits) {
        for (const std::size_t count : kCounts) {
          Bytes data = secret(unit * count), iv = counts(op) ? Bytes(16 * count, 0xff) : secret(16 * count);
          chain.run(key, {.in = data.data(), .out = data.data(), .iv = iv.data(), .unit = unit, .count = count});
          ++batches;
        }
      }
    }
  }
  return batches;
}

unsigned run_sectors(const aes::Backend& backend, modes::Offload offload) {
  unsigned batches = 0;
  for (const char* spec : {"aes-xts-plain64", "aes-cbc-essiv:sha256", "aes-cbc-eboiv"}) {
    const modes::SectorCipher cipher(backend, modes::parse_cipher_spec(spec), {.sector_bytes = 512},
                                     {.key = secret(32), .essiv_key = secret(32)}, offload);
    Bytes data = secret(512 * 67);
    cipher.encrypt(5, data, data.data());
    cipher.decrypt(5, data, data.data());
    batches += 2;
  }
  return batches;
}

/// Lengths and nonces are public. open() tells by a branch whether the tag was right, so seal() alone is run.
unsigned run_aead(const aes::Backend& backend, modes::Offload offload) {
  using modes::AeadMode;
  unsigned batches = 0;
  for (const AeadMode mode : {AeadMode::ccm, AeadMode::eax, AeadMode::gcm, AeadMode::ocb}) {
    const modes::Aead aead(backend, mode, secret(16), offload);
    for (const std::size_t size : {0u, 1u, 16u, 77u, 1424u}) {
      Bytes data = secret(size), tag(16);
      aead.seal(Bytes(12, 7), secret(size / 2), data, data.data(), tag);
      ++batches;
    }
  }
  return batches;
}

/// [[noinline]]: a branch, whatever the optimiser thinks of it.
[[gnu::noinline]] int planted(const Bytes& key) {
  if (key[0] & 1) return std::puts("odd");
  return 0;
}

int run(std::string_view name, bool plant) {
  if (!RUNNING_ON_VALGRIND) return std::fprintf(stderr, "constant-time: run it under valgrind\n"), 2;
  const aes::Backend* const backend = aes::by_name(name);
  if (backend == nullptr) return std::fprintf(stderr, "constant-time: no such backend here\n"), 2;
  unsigned batches = 0;
  for (const auto offload : {modes::Offload::off, modes::Offload::buffer, modes::Offload::batch}) {
    batches += run_chains(*backend, offload) + run_sectors(*backend, offload) + run_aead(*backend, offload);
  }
  if (plant) planted(secret(16));
  std::printf("constant-time: %s: %u batches, %lu reports\n", backend->name, batches,
              static_cast<unsigned long>(VALGRIND_COUNT_ERRORS));
  return 0;
}

}  // namespace
}  // namespace nbdcrypt

int main(int argc, char** argv) {
  if (argc < 2) return std::fprintf(stderr, "usage: constant-time BACKEND [plant]\n"), 2;
  return nbdcrypt::run(argv[1], argc > 2 && std::strcmp(argv[2], "plant") == 0);
}
