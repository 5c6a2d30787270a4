// SPDX-License-Identifier: Apache-2.0
//
// The contract between the chaining modes and an AES backend. A backend is one constinit object in one file; it
// encrypts blocks, and may take whole batches of units ("offload kernels"). Plain pointers and integers only, so
// that any toolchain with any target flags can compile a backend without weak symbols of its own.
// A kernel never allocates, never fails, never branches or addresses on key or data (but for `by_name_only` backends).
//
// Words, used in one sense everywhere: a block is 16 bytes; a unit is one chain (a sector, a packet) of `unit`
// bytes; a batch is `count` units laid end to end.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace nbdcrypt::aes {

using Byte = uint8_t;
inline constexpr size_t kBlockBytes = 16;

/// Round keys in FIPS 197 byte order. enc[16*r .. 16*r+15] is the round key of round r; dec is the schedule of the
/// equivalent inverse cipher (FIPS 197, 5.3.5): dec[0] = enc[rounds], InvMixColumns on all but the first and last.
/// No constructor; filled by make_key(), which gives each key a new serial, so that hardware that caches a key
/// knows when it changed.
struct alignas(64) Key {
  Byte enc[240], dec[240];
  uint32_t rounds;  // 10, 12 or 14
  uint64_t serial;  // never 0
};

/// A batch: `count` independent units of `unit` bytes, laid end to end.
struct Run {
  const Byte* in;  // [count * unit]; may equal out, must not partly overlap it
  Byte* out;       // [count * unit]
  Byte* iv;        // [count * 16] in: the IV, counter, or (XTS) the already encrypted tweak T of each unit
                   //              out: what continues the unit: last ciphertext block, next counter, T * x^(unit/16);
                   //              ECB leaves it alone, and it may be null there
  size_t unit;     // bytes, a multiple of 16
  size_t count;    // units
};

using Kernel = void (*)(const Key&, const Run&) noexcept;
using Blocks = void (*)(const Key&, const Byte* in, Byte* out, size_t blocks) noexcept;
using Ghash = void (*)(Byte state[16], const Byte h[16], const Byte* in, size_t blocks) noexcept;

/// Powers of GHASH's key (SP 800-38D, 6.4), in a form that is its maker's own.
struct alignas(64) HashKey {
  Byte powers[512];
};

/// Whole blocks of one message in an authenticated mode. Any alignment; out may equal in, must not partly overlap it.
struct GcmRun {
  const Byte* in;
  Byte* out;
  Byte* counter;  // [16] of the first block; its last 32 bits count, and are moved on
  Byte* state;    // [16] GHASH so far; takes the ciphertext in
  size_t blocks;
};
struct OcbRun {
  const Byte* in;
  Byte* out;
  Byte* offset;    // [16] of the block before the first, in terms of RFC 7253; becomes that of the last block
  Byte* checksum;  // [16] takes the plaintext in
  const Byte* l;   // [64 * 16] L_0, L_1, ...
  uint64_t first;  // number of the first block in the message, from 1
  size_t blocks;
};
struct MacRun {
  const Byte* in;
  Byte* out;
  Byte* counter;  // [16] of the first block; all bits count, and are moved on
  Byte* state;    // [16] CBC-MAC so far
  size_t blocks;
};

/// What a backend may do of the authenticated modes in one pass. A null slot is put together from the others, encrypt
/// and decrypt. Limits do not bind these.
struct Fused {
  void (*gcm_prepare)(HashKey&, const Byte h[16]) noexcept = nullptr;  // never null where one of the next three is set
  void (*gcm_hash)(const HashKey&, Byte state[16], const Byte* in, size_t blocks) noexcept = nullptr;
  void (*gcm_encrypt)(const Key&, const HashKey&, const GcmRun&) noexcept = nullptr;
  void (*gcm_decrypt)(const Key&, const HashKey&, const GcmRun&) noexcept = nullptr;
  void (*ocb_encrypt)(const Key&, const OcbRun&) noexcept = nullptr;
  void (*ocb_decrypt)(const Key&, const OcbRun&) noexcept = nullptr;
  void (*mac)(const Key&, Byte state[16], const Byte* in, size_t blocks) noexcept = nullptr;  // CBC-MAC
  void (*ctr_mac_in)(const Key&, const MacRun&) noexcept = nullptr;   // CTR, and CBC-MAC of what goes in
  void (*ctr_mac_out)(const Key&, const MacRun&) noexcept = nullptr;  // CTR, and CBC-MAC of what comes out
};

/// The operations that a backend may offload. ctr: 128-bit big-endian counter; ctr32: the last 32 bits count (GCM).
enum Op : unsigned { ecb_enc, ecb_dec, cbc_enc, cbc_dec, cfb_enc, cfb_dec, ofb, ctr, ctr32, xts_enc, xts_dec, kOps };

/// What the offload kernels ask of their caller, after cia_req_align and cia_max_nbytes of the 2005 interface.
struct Limits {
  size_t align = 1;             // of in and out
  size_t iv_align = 1;          // of iv
  size_t overread = 0;          // bytes behind the input that the kernel may read
  size_t fetch = 0;             // but none where a unit (in ECB: a batch) is a multiple of this; 0: always
  size_t max_bytes = SIZE_MAX;  // count * unit of one call; with `fetch`, a multiple of it
};

/// A null slot is not offloaded: modes/ chains over encrypt and decrypt.
struct Offload {
  Kernel of[kOps] = {};
};

struct Backend {
  const char* name = nullptr;  // "generic", "x86-aesni", ...
  uint64_t needs = 0;          // mask of cpu::Feature
  /// Fills enc, dec and rounds; bytes: 16, 24 or 32.
  void (*expand_key)(Key&, const Byte* key, size_t bytes) noexcept = nullptr;
  /// ECB over any number of blocks, any alignment, in == out allowed; never null.
  Blocks encrypt = nullptr, decrypt = nullptr;
  Offload offload = {};
  Ghash ghash = nullptr;  // null: the generic one
  Fused fused = {};
  Limits limits = {};         // binds the offload kernels only
  bool by_name_only = false;  // best() passes it over: its addresses depend on key and data
  /// How deep its functions go into the stack, where compilers spill round keys. The callers wipe so much after them.
  size_t stack_bytes = 16384;
  /// Zeroes the vector registers, where its functions leave round keys. Null: they leave none.
  void (*clear_registers)() noexcept = nullptr;
};

}  // namespace nbdcrypt::aes
