// SPDX-License-Identifier: Apache-2.0
//
// The classic table AES (round_tables.h). What kernels and libraries ran before there were instructions for AES, and so
// the baseline of older measurements. Its addresses depend on key and data, which the cache betrays: it is never chosen
// unnamed.
#include <string.h>

#include <bit>

#include "aes/block_modes.h"
#include "aes/key_schedule.h"
#include "aes/round_tables.h"
#include "aes/table_ghash.h"

namespace nbdcrypt::aes {

extern constinit const Backend table;

namespace {

/// Four columns. Words are read and written as they lie in memory; the tables follow the byte order of the machine.
struct Columns {
  uint32_t word[4];

  static Columns load(const Byte* p) noexcept {
    Columns columns;
    memcpy(&columns, p, sizeof columns);
    return columns;
  }
  static Columns load_key(const Byte* p) noexcept {
    return load(static_cast<const Byte*>(__builtin_assume_aligned(p, 16)));
  }
  void store(Byte* p) const noexcept { memcpy(p, this, sizeof *this); }

  friend Columns operator^(Columns a, Columns b) noexcept {
    return {{a.word[0] ^ b.word[0], a.word[1] ^ b.word[1], a.word[2] ^ b.word[2], a.word[3] ^ b.word[3]}};
  }

  Columns times_x() const noexcept {
    uint64_t half[2];
    memcpy(half, word, sizeof half);
    const auto little_endian = [](uint64_t x) {
      return std::endian::native == std::endian::little ? x : __builtin_bswap64(x);
    };
    const uint64_t low = little_endian(half[0]), high = little_endian(half[1]);
    half[0] = little_endian(low << 1 ^ (0x87 & (0 - (high >> 63))));
    half[1] = little_endian(high << 1 | low >> 63);
    Columns product;
    memcpy(&product, half, sizeof product);
    return product;
  }

  template <int kBits>
  Columns count_up() const noexcept {
    const auto big_endian = [](uint32_t x) {
      return std::endian::native == std::endian::big ? x : __builtin_bswap32(x);
    };
    Columns next = *this;
    uint32_t carry = 1;
    for (int i = 3; i > 3 - kBits / 32; i--) {
      const uint32_t sum = big_endian(word[i]) + carry;
      next.word[i] = big_endian(sum);
      carry = carry & (sum == 0);
    }
    return next;
  }
};

template <bool kInverse>
class TableCipher {
 public:
  using Block = Columns;
  static constexpr size_t kWide = 1;

  explicit TableCipher(const Key& key) noexcept : keys_(kInverse ? key.dec : key.enc), rounds_(key.rounds) {}

  template <size_t N>
  [[gnu::always_inline]] void crypt(Block* x) const noexcept {
    const Byte* key = keys_;
    Columns a = *x ^ Columns::load_key(key);
    for (uint32_t left = rounds_ / 2;;) {
      const Columns b = each_column<round_column>(a, key + kBlockBytes);
      key += 2 * kBlockBytes;
      if (--left == 0) {
        *x = each_column<last_column>(b, key);
        return;
      }
      a = each_column<round_column>(b, key);
    }
  }

 private:
  static constexpr const Tables& kTables = kInverse ? kInverseTables : kForward;

  /// A column of the state behind ShiftRows: row i of it comes out of column s<i>.
  [[gnu::always_inline]] static uint32_t round_column(uint32_t key, uint32_t s0, uint32_t s1, uint32_t s2,
                                                      uint32_t s3) noexcept {
    const auto& lookup = kTables.round;
    return key ^ lookup[0][row<0>(s0)] ^ lookup[1][row<1>(s1)] ^ lookup[2][row<2>(s2)] ^ lookup[3][row<3>(s3)];
  }

  [[gnu::always_inline]] static uint32_t last_column(uint32_t key, uint32_t s0, uint32_t s1, uint32_t s2,
                                                     uint32_t s3) noexcept {
    const auto& lookup = kTables.last;
    return key ^ (uint32_t{lookup[row<0>(s0)]} << shift_of(0) | uint32_t{lookup[row<1>(s1)]} << shift_of(1) |
                  uint32_t{lookup[row<2>(s2)]} << shift_of(2) | uint32_t{lookup[row<3>(s3)]} << shift_of(3));
  }

  template <unsigned kRow>
  [[gnu::always_inline]] static uint32_t row(uint32_t column) noexcept {
    return column >> shift_of(kRow) & 0xff;
  }

  template <auto kColumn>
  [[gnu::always_inline]] static Columns each_column(const Columns& s, const Byte* key) noexcept {
    const auto& [a, b, c, d] = s.word;
    const Columns k = Columns::load_key(key);
    const uint32_t &right = kInverse ? d : b, &left = kInverse ? b : d;
    return {{kColumn(k.word[0], a, right, c, left), kColumn(k.word[1], b, kInverse ? a : c, d, kInverse ? c : a),
             kColumn(k.word[2], c, left, a, right), kColumn(k.word[3], d, kInverse ? c : a, b, kInverse ? a : c)}};
  }

  const Byte* keys_;
  uint32_t rounds_;
};

}  // namespace

constinit const Backend table{
    .name = "table",
    .expand_key = expand_key,
    .encrypt = ecb_blocks<TableCipher<false>>,
    .decrypt = ecb_blocks<TableCipher<true>>,
    .offload = block_offload<TableCipher>(),
    .ghash = ghash_by_table,
    .fused = {.gcm_prepare = prepare_by_table, .gcm_hash = hash_by_table},
    .by_name_only = true,
};

}  // namespace nbdcrypt::aes
