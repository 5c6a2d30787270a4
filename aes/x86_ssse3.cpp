// SPDX-License-Identifier: Apache-2.0
//
// AES by byte permutes, for processors with SSSE3 and without AES instructions: constant time, as PSHUFB looks up in a
// register, not in memory. The S-box is that of tower.h. Between the first and the last round the state stays in
// nibbles of the tower field, which the output tables give and the round keys are brought to.
//
// ShiftRows moves nothing either: after r rounds the register holds the state with its bytes where SubBytes found them,
// ShiftRows^-r of what FIPS 197 calls the state. The rotations of columns in MixColumns, the round keys and one permute
// at the end make up for it; all repeat after four rounds.
//
// A round costs 12 permutes to encrypt and 16 to decrypt, of 26 and 32 vector operations. One block waits about 15
// cycles for a round of its own, so eight are interleaved: with three vector units that is all that they can do, 91 and
// 109 cycles a block of AES-128 (Emerald Rapids), in 32-bit code too.
#include <tmmintrin.h>

#include "aes/block_modes.h"
#include "aes/cpu.h"
#include "aes/key_schedule.h"
#include "aes/tower.h"
#include "aes/x86_clear.h"

namespace nbdcrypt::aes {

extern constinit const Backend x86_ssse3;

namespace {

/// A permute of the bytes of a block: byte i comes from `of[i]`.
using Permute = tower::Nibble;

/// What the arrangement of bytes behind r rounds, r mod 4, makes of permutes.
struct Arrangement {
  Permute arrange[4];   // a round key or a block to it
  Permute restore[4];   // from it
  Permute next_row[4];  // row r + 1 of each column, within it
  Permute row_before[4];
};

consteval Permute compose(const Permute& outer, const Permute& inner) {
  Permute both = {};
  for (unsigned i = 0; i < 16; i++) both.of[i] = inner.of[outer.of[i]];
  return both;
}

/// Row r of each column by `rows`.
consteval Permute rotate_columns(unsigned rows) {
  Permute permute = {};
  for (unsigned i = 0; i < 16; i++) permute.of[i] = static_cast<Byte>(i / 4 * 4 + (i + rows) % 4);
  return permute;
}

consteval Arrangement make_arrangement(bool inverse) {
  Permute shift_rows = {}, unshift_rows = {};
  for (unsigned i = 0; i < 16; i++) {
    const unsigned right = (i + 4 * (i % 4)) % 16, left = (i + 16 - 4 * (i % 4)) % 16;
    shift_rows.of[i] = static_cast<Byte>(inverse ? left : right);
    unshift_rows.of[i] = static_cast<Byte>(inverse ? right : left);
  }
  Arrangement all = {};
  Permute to = rotate_columns(0), from = rotate_columns(0);
  for (unsigned r = 0; r < 4; r++, to = compose(to, unshift_rows), from = compose(from, shift_rows)) {
    all.arrange[r] = to, all.restore[r] = from;
    all.next_row[r] = compose(compose(to, rotate_columns(1)), from);
    all.row_before[r] = compose(compose(to, rotate_columns(3)), from);
  }
  return all;
}

/// A matrix of the S-box or of its inverse behind the inversion, times a factor of MixColumns, back to nibbles.
consteval tower::Output times(unsigned factor, const gf256::Map& before, const gf256::Map& behind) {
  using tower::compose;
  return tower::lookups_of_inverse(
      compose(tower::kFields.to_nibbles, compose(before, compose(tower::multiply_by(factor), behind))));
}

constexpr gf256::Map kAffine = tower::affine_map(), kUnaffine = gf256::inverse_of(kAffine);
constexpr gf256::Map kSame = tower::multiply_by(1);

/// The tables of a direction. What the inversion takes is to_nibbles of a byte, and in the inverse cipher to_nibbles of
/// the inverse matrix of the byte: there the matrix stands before the inversion.
template <bool kInverse>
struct Tables {
  static constexpr tower::Linear kIn =
      tower::lookups(tower::compose(tower::kFields.to_nibbles, kInverse ? kUnaffine : kSame));
  static constexpr tower::Output kLast = tower::lookups_of_inverse(kInverse ? kSame : kAffine);
  static constexpr Arrangement kArrangement = make_arrangement(kInverse);
};

constexpr tower::Output kTimes1 = times(1, kSame, kAffine), kTimes2 = times(2, kSame, kAffine);
constexpr tower::Output kTimes9 = times(9, kUnaffine, kSame), kTimes11 = times(11, kUnaffine, kSame),
                        kTimes13 = times(13, kUnaffine, kSame), kTimes14 = times(14, kUnaffine, kSame);

struct Xmm {
  __m128i v;

  static Xmm load(const Byte* p) noexcept { return {_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))}; }
  void store(Byte* p) const noexcept { _mm_storeu_si128(reinterpret_cast<__m128i*>(p), v); }

  friend Xmm operator^(Xmm a, Xmm b) noexcept { return {_mm_xor_si128(a.v, b.v)}; }
  friend Xmm operator&(Xmm a, Xmm b) noexcept { return {_mm_and_si128(a.v, b.v)}; }

  /// The bits carried out of each half come back as 0x87 and as 1.
  Xmm times_x() const noexcept {
    const __m128i carries = _mm_srai_epi32(_mm_shuffle_epi32(v, 0x13), 31);
    return {_mm_xor_si128(_mm_add_epi64(v, v), _mm_and_si128(carries, _mm_set_epi32(0, 1, 0, 0x87)))};
  }

  template <int kBits>
  Xmm count_up() const noexcept {
    const __m128i reverse = _mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    __m128i next = _mm_shuffle_epi8(v, reverse);
    if constexpr (kBits == 32) next = _mm_sub_epi32(next, _mm_set_epi32(0, 0, 0, -1));
    if constexpr (kBits == 128) {
      next = _mm_sub_epi64(next, _mm_set_epi32(0, 0, -1, -1));
      const __m128i zeros = _mm_cmpeq_epi32(next, _mm_setzero_si128());
      const __m128i carry = _mm_slli_si128(_mm_and_si128(zeros, _mm_shuffle_epi32(zeros, 0xb1)), 8);
      next = _mm_sub_epi64(next, carry);
    }
    return {_mm_shuffle_epi8(next, reverse)};
  }

  Xmm permuted(const Permute& permute) const noexcept { return {_mm_shuffle_epi8(v, aligned(permute))}; }

  static __m128i aligned(const tower::Nibble& table) noexcept {
    return _mm_load_si128(reinterpret_cast<const __m128i*>(table.of));
  }
};

Xmm look_up(const tower::Nibble& table, Xmm index) noexcept { return {_mm_shuffle_epi8(Xmm::aligned(table), index.v)}; }

/// The nibbles of each byte.
struct Nibbles {
  Xmm low, high;

  explicit Nibbles(Xmm x) noexcept {
    const Xmm mask = {_mm_set1_epi8(15)};
    low = x & mask, high = Xmm{_mm_srli_epi32(x.v, 4)} & mask;
  }
};

Xmm apply(const tower::Linear& map, Xmm x) noexcept {
  const Nibbles nibbles(x);
  return look_up(map.low, nibbles.low) ^ look_up(map.high, nibbles.high);
}

/// io and jo of tower.h.
struct Inverted {
  Xmm io, jo;

  explicit Inverted(Xmm x) noexcept {
    const Nibbles nibbles(x);
    const Xmm k = nibbles.low, i = nibbles.high, j = k ^ i;
    const Xmm a_over_k = look_up(tower::kAOver, k);
    io = look_up(tower::kInverse, look_up(tower::kInverse, i) ^ a_over_k) ^ j;
    jo = look_up(tower::kInverse, look_up(tower::kInverse, j) ^ a_over_k) ^ i;
  }

  Xmm operator()(const tower::Output& map) const noexcept { return look_up(map.io, io) ^ look_up(map.jo, jo); }
};

template <bool kInverse>
class PermuteCipher {
 public:
  using Block = Xmm;
  static constexpr size_t kWide = 8;

  /// The constant of the S-box is added with the round keys: MixColumns maps a column of one byte to itself. In the
  /// inverse cipher it goes before the inverse box.
  explicit PermuteCipher(const Key& key) noexcept : rounds_(key.rounds) {
    const Byte* const from = kInverse ? key.dec : key.enc;
    const Xmm constant = {_mm_set1_epi8(0x63)}, zero = {_mm_setzero_si128()};
    first_ = Xmm::load(from) ^ (kInverse ? constant : zero);
    for (uint32_t r = 1; r < rounds_; r++) {
      const Xmm round_key = apply(Own::kIn, Xmm::load(from + kBlockBytes * r) ^ constant);
      middle_[r] = round_key.permuted(Own::kArrangement.arrange[r % 4]);
    }
    last_ = Xmm::load(from + kBlockBytes * rounds_) ^ (kInverse ? zero : constant);
  }
  PermuteCipher(const PermuteCipher&) = delete;
  PermuteCipher& operator=(const PermuteCipher&) = delete;
  ~PermuteCipher() {
    memset(static_cast<void*>(this), 0, sizeof *this);
    asm volatile("" : : "r"(this) : "memory");  // so that the compiler keeps the memset
  }

  template <size_t N>
  [[gnu::always_inline]] void crypt(Xmm* x) const noexcept {
    for (size_t i = 0; i < N; i++) x[i] = apply(Own::kIn, x[i] ^ first_);
    for (uint32_t r = 1; r < rounds_; r++) {
      for (size_t i = 0; i < N; i++) x[i] = mix(Inverted(x[i]), r % 4) ^ middle_[r];
    }
    for (size_t i = 0; i < N; i++) {
      x[i] = Inverted(x[i])(Own::kLast).permuted(Own::kArrangement.restore[rounds_ % 4]) ^ last_;
    }
  }

 private:
  using Own = Tables<kInverse>;

  /// MixColumns or its inverse, Horner's rule over the rows.
  [[gnu::always_inline]] static Xmm mix(const Inverted& inverted, uint32_t round) noexcept {
    const Permute& next_row = Own::kArrangement.next_row[round];
    if constexpr (kInverse) {
      const Xmm two = inverted(kTimes13) ^ inverted(kTimes9).permuted(next_row);
      const Xmm three = inverted(kTimes11) ^ two.permuted(next_row);
      return inverted(kTimes14) ^ three.permuted(next_row);
    } else {
      const Xmm once = inverted(kTimes1), two = inverted(kTimes2) ^ once.permuted(next_row);
      return two ^ two.permuted(next_row) ^ once.permuted(Own::kArrangement.row_before[round]);
    }
  }

  uint32_t rounds_;
  Xmm first_, last_;
  Xmm middle_[14];  // from 1 on
};

}  // namespace

constinit const Backend x86_ssse3{
    .name = "x86-ssse3",
    .needs = cpu::ssse3,
    .expand_key = expand_key,
    .encrypt = ecb_blocks<PermuteCipher<false>>,
    .decrypt = ecb_blocks<PermuteCipher<true>>,
    .offload = block_offload<PermuteCipher>(),
    .stack_bytes = 4096,
    .clear_registers = clear_xmm,
};

}  // namespace nbdcrypt::aes
