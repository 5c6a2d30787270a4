// SPDX-License-Identifier: Apache-2.0
//
// The Signal Processing Engine of e500 processors: table lookups for two columns at a time, in assembly (ppc_spe.S).
// The assembly is called in bursts of at most kBurstBlocks, so that no more than that runs with a user's registers
// spread over 64 bits; what is around it knows no byte order. Looks up by key and data: never chosen unnamed.
#include <stddef.h>

#include "aes/cpu.h"
#include "aes/key_schedule.h"
#include "aes/round_tables.h"

namespace nbdcrypt::aes {

extern constinit const Backend ppc_spe;

namespace {

constexpr size_t kBurstBlocks = 128;

static_assert(offsetof(Tables, last) == 4096 && offsetof(Key, dec) % 8 == 0 && alignof(Key) % 8 == 0);

using Assembly = void(const Tables* tables, const Byte* round_keys, uint32_t rounds, const Byte* in, Byte* out,
                      size_t blocks, Byte* iv) noexcept;

}  // namespace

extern "C" {
Assembly nbdcrypt_spe_ecb_encrypt, nbdcrypt_spe_ecb_decrypt, nbdcrypt_spe_cbc_encrypt, nbdcrypt_spe_cbc_decrypt,
    nbdcrypt_spe_ctr, nbdcrypt_spe_ctr32, nbdcrypt_spe_xts_encrypt, nbdcrypt_spe_xts_decrypt;
}

namespace {

enum class Schedule { encryption, decryption };

/// One chain of any length.
template <Assembly* kAssembly, Schedule kSchedule>
void burst_by_burst(const Key& key, const Byte* in, Byte* out, size_t blocks, Byte* iv) noexcept {
  constexpr bool kEncryption = kSchedule == Schedule::encryption;
  while (blocks > 0) {
    const size_t burst = blocks < kBurstBlocks ? blocks : kBurstBlocks;
    kAssembly(kEncryption ? &kForward : &kInverseTables, kEncryption ? key.enc : key.dec, key.rounds, in, out, burst,
              iv);
    in += kBlockBytes * burst, out += kBlockBytes * burst, blocks -= burst;
  }
}

template <Assembly* kAssembly, Schedule kSchedule>
void blocks(const Key& key, const Byte* in, Byte* out, size_t count) noexcept {
  burst_by_burst<kAssembly, kSchedule>(key, in, out, count, nullptr);
}

template <Assembly* kAssembly, Schedule kSchedule>
void ecb(const Key& key, const Run& run) noexcept {
  blocks<kAssembly, kSchedule>(key, run.in, run.out, run.unit / kBlockBytes * run.count);
}

template <Assembly* kAssembly, Schedule kSchedule>
void chains(const Key& key, const Run& run) noexcept {
  for (size_t i = 0; i < run.count; i++) {
    burst_by_burst<kAssembly, kSchedule>(key, run.in + run.unit * i, run.out + run.unit * i, run.unit / kBlockBytes,
                                         run.iv + kBlockBytes * i);
  }
}

/// CFB and OFB were not among the modes of AES for SPE (2015), and are left to modes/.
constexpr Offload offload() noexcept {
  Offload table;
  table.of[ecb_enc] = ecb<nbdcrypt_spe_ecb_encrypt, Schedule::encryption>;
  table.of[ecb_dec] = ecb<nbdcrypt_spe_ecb_decrypt, Schedule::decryption>;
  table.of[cbc_enc] = chains<nbdcrypt_spe_cbc_encrypt, Schedule::encryption>;
  table.of[cbc_dec] = chains<nbdcrypt_spe_cbc_decrypt, Schedule::decryption>;
  table.of[ctr] = chains<nbdcrypt_spe_ctr, Schedule::encryption>;
  table.of[ctr32] = chains<nbdcrypt_spe_ctr32, Schedule::encryption>;
  table.of[xts_enc] = chains<nbdcrypt_spe_xts_encrypt, Schedule::encryption>;
  table.of[xts_dec] = chains<nbdcrypt_spe_xts_decrypt, Schedule::decryption>;
  return table;
}

}  // namespace

constinit const Backend ppc_spe{
    .name = "ppc-spe",
    .needs = cpu::spe,
    .expand_key = expand_key,
    .encrypt = blocks<nbdcrypt_spe_ecb_encrypt, Schedule::encryption>,
    .decrypt = blocks<nbdcrypt_spe_ecb_decrypt, Schedule::decryption>,
    .offload = offload(),
    .by_name_only = true,
    .stack_bytes = 1024,
};

}  // namespace nbdcrypt::aes
