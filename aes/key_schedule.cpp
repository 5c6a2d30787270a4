// SPDX-License-Identifier: Apache-2.0
//
// SubWord in constant time: the four bytes of a word are already bit-sliced when each bit is masked out where it lies.
#include "aes/key_schedule.h"

#include <atomic>
#include <bit>

#include "aes/key_expansion.h"
#include "aes/sbox.h"

namespace nbdcrypt::aes {
namespace {

struct Portable {
  static constexpr bool kLittle = std::endian::native == std::endian::little;

  static uint32_t constant(uint32_t byte) noexcept { return kLittle ? byte : byte << 24; }

  static uint32_t rot_word(uint32_t word) noexcept { return kLittle ? std::rotr(word, 8) : std::rotl(word, 8); }

  static uint32_t sub_word(uint32_t word) noexcept {
    uint32_t q[8];
    for (unsigned bit = 0; bit < 8; bit++) q[bit] = (word >> bit) & 0x01010101;
    sub_bytes(q);
    uint32_t result = 0x63636363;
    for (unsigned bit = 0; bit < 8; bit++) result ^= q[bit] << bit;
    return result;
  }

  /// The matrix of FIPS 197, 5.3.3, is that of MixColumns times (5 0 4 0), and all bytes of a column lie in one word.
  static void inv_mix_columns(const Byte* in, Byte* out) noexcept {
    for (size_t at = 0; at < kBlockBytes; at += 4) {
      uint32_t a;
      memcpy(&a, in + at, 4);
      a ^= xtimes(xtimes(a ^ std::rotl(a, 16)));
      const uint32_t next = rot_word(a), sum = a ^ next;
      a = xtimes(sum) ^ next ^ std::rotl(sum, 16);
      memcpy(out + at, &a, 4);
    }
  }
};

std::atomic<uint64_t> last_serial{0};

}  // namespace

bool make_key(const Backend& backend, std::span<const Byte> bytes, Key& key) noexcept {
  if (bytes.size() != 16 && bytes.size() != 24 && bytes.size() != 32) return false;
  backend.expand_key(key, bytes.data(), bytes.size());
  key.serial = last_serial.fetch_add(1, std::memory_order_relaxed) + 1;
  return true;
}

void expand_key(Key& key, const Byte* bytes, size_t count) noexcept {
  expand_encryption_key<Portable>(key, bytes, count);
  derive_decryption_key<Portable>(key);
}

}  // namespace nbdcrypt::aes
