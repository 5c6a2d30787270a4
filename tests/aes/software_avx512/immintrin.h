// SPDX-License-Identifier: Apache-2.0
//
// Stands in for <immintrin.h> when aes/x86_vaes512.cpp is compiled as a test: the AVX-512 intrinsics that it uses, over
// four xmm registers each, so that every line of that file runs on processors that have AES-NI and PCLMULQDQ alone.
// Source: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2, the pseudo-code of each instruction.
#pragma once

#include <smmintrin.h>
#include <wmmintrin.h>

struct __m512i {
  __m128i lane[4];
};

namespace nbdcrypt::test {

template <class F>
__m512i each_lane(const F& f) {
  return {{f(0), f(1), f(2), f(3)}};
}

template <class F>
__m512i each_qword(__m512i a, __m512i b, const F& f) {
  return each_lane([&](int i) {
    const auto low = [](__m128i x) { return static_cast<unsigned long long>(_mm_cvtsi128_si64(x)); };
    const auto high = [&](__m128i x) { return low(_mm_unpackhi_epi64(x, x)); };
    const auto result = [&](auto half) { return static_cast<long long>(f(half(a.lane[i]), half(b.lane[i]))); };
    return _mm_set_epi64x(result(high), result(low));
  });
}

}  // namespace nbdcrypt::test

inline __m512i _mm512_loadu_si512(const void* p) {
  return nbdcrypt::test::each_lane([&](int i) { return _mm_loadu_si128(static_cast<const __m128i*>(p) + i); });
}
inline void _mm512_storeu_si512(void* p, __m512i a) {
  for (int i = 0; i < 4; i++) _mm_storeu_si128(static_cast<__m128i*>(p) + i, a.lane[i]);
}
inline __m512i _mm512_setzero_si512() { return {}; }
inline __m512i _mm512_broadcast_i32x4(__m128i a) { return {{a, a, a, a}}; }
inline __m512i _mm512_castsi128_si512(__m128i a) {
  const __m128i undefined = _mm_set1_epi8(0x5a);
  return {{a, undefined, undefined, undefined}};
}
inline __m128i _mm512_castsi512_si128(__m512i a) { return a.lane[0]; }
inline __m128i _mm512_extracti32x4_epi32(__m512i a, int i) { return a.lane[i]; }
inline __m512i _mm512_inserti32x4(__m512i a, __m128i b, int i) {
  a.lane[i] = b;
  return a;
}
inline __m512i _mm512_set_epi64(long long h, long long g, long long f, long long e, long long d, long long c,
                                long long b, long long a) {
  return {{_mm_set_epi64x(b, a), _mm_set_epi64x(d, c), _mm_set_epi64x(f, e), _mm_set_epi64x(h, g)}};
}
inline __m512i _mm512_set1_epi64(long long a) { return _mm512_broadcast_i32x4(_mm_set1_epi64x(a)); }

/// VALIGNQ: the low eight quadwords of (a, b), b below, moved down by `count`.
inline __m512i _mm512_alignr_epi64(__m512i a, __m512i b, int count) {
  unsigned long long both[16];
  _mm512_storeu_si512(both, b);
  _mm512_storeu_si512(both + 8, a);
  return _mm512_loadu_si512(both + count);
}
/// VSHUFI32X4: lanes 0 and 1 chosen from a, 2 and 3 from b.
inline __m512i _mm512_shuffle_i32x4(__m512i a, __m512i b, int from) {
  return {{a.lane[from & 3], a.lane[from >> 2 & 3], b.lane[from >> 4 & 3], b.lane[from >> 6 & 3]}};
}
inline __m512i _mm512_shuffle_epi8(__m512i a, __m512i b) {
  return nbdcrypt::test::each_lane([&](int i) { return _mm_shuffle_epi8(a.lane[i], b.lane[i]); });
}

inline __m512i _mm512_xor_si512(__m512i a, __m512i b) {
  return nbdcrypt::test::each_lane([&](int i) { return _mm_xor_si128(a.lane[i], b.lane[i]); });
}
/// VPTERNLOGQ: bit (a, b, c) of the immediate.
inline __m512i _mm512_ternarylogic_epi64(__m512i a, __m512i b, __m512i c, int table) {
  const __m128i ones = _mm_set1_epi8(-1);
  return nbdcrypt::test::each_lane([&](int i) {
    __m128i result = _mm_setzero_si128();
    for (int row = 0; row < 8; row++) {
      if (!(table >> row & 1)) continue;
      const auto literal = [&](__m128i x, int bit) { return row >> bit & 1 ? x : _mm_xor_si128(x, ones); };
      const __m128i term =
          _mm_and_si128(literal(a.lane[i], 2), _mm_and_si128(literal(b.lane[i], 1), literal(c.lane[i], 0)));
      result = _mm_or_si128(result, term);
    }
    return result;
  });
}
inline __m512i _mm512_add_epi64(__m512i a, __m512i b) {
  return nbdcrypt::test::each_lane([&](int i) { return _mm_add_epi64(a.lane[i], b.lane[i]); });
}
inline __m512i _mm512_sub_epi64(__m512i a, __m512i b) {
  return nbdcrypt::test::each_lane([&](int i) { return _mm_sub_epi64(a.lane[i], b.lane[i]); });
}
inline __m512i _mm512_sllv_epi64(__m512i a, __m512i counts) {
  return nbdcrypt::test::each_qword(a, counts, [](auto x, auto by) { return by > 63 ? 0 : x << by; });
}
inline __m512i _mm512_srlv_epi64(__m512i a, __m512i counts) {
  return nbdcrypt::test::each_qword(a, counts, [](auto x, auto by) { return by > 63 ? 0 : x >> by; });
}
inline __m512i _mm512_slli_epi64(__m512i a, unsigned count) { return _mm512_sllv_epi64(a, _mm512_set1_epi64(count)); }
inline __m512i _mm512_srli_epi64(__m512i a, unsigned count) { return _mm512_srlv_epi64(a, _mm512_set1_epi64(count)); }

/// VPSLLDQ, VPSRLDQ: by bytes, in each lane.
inline __m512i _mm512_bslli_epi128(__m512i a, int count) {
  return nbdcrypt::test::each_lane([&](int i) {
    unsigned char bytes[32] = {};
    _mm_storeu_si128(reinterpret_cast<__m128i*>(bytes + 16), a.lane[i]);
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes + 16 - count));
  });
}
inline __m512i _mm512_bsrli_epi128(__m512i a, int count) {
  return nbdcrypt::test::each_lane([&](int i) {
    unsigned char bytes[32] = {};
    _mm_storeu_si128(reinterpret_cast<__m128i*>(bytes), a.lane[i]);
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes + count));
  });
}
/// VPCLMULQDQ: bit 0 of the immediate chooses the half of a, bit 4 that of b.
inline __m512i _mm512_clmulepi64_epi128(__m512i a, __m512i b, int halves) {
  return nbdcrypt::test::each_lane([&](int i) {
    const auto half = [](__m128i x, bool high) { return high ? _mm_unpackhi_epi64(x, x) : x; };
    return _mm_clmulepi64_si128(half(a.lane[i], halves & 1), half(b.lane[i], halves >> 4 & 1), 0x00);
  });
}

inline __m512i _mm512_aesenc_epi128(__m512i a, __m512i key) {
  return nbdcrypt::test::each_lane([&](int i) { return _mm_aesenc_si128(a.lane[i], key.lane[i]); });
}
inline __m512i _mm512_aesenclast_epi128(__m512i a, __m512i key) {
  return nbdcrypt::test::each_lane([&](int i) { return _mm_aesenclast_si128(a.lane[i], key.lane[i]); });
}
inline __m512i _mm512_aesdec_epi128(__m512i a, __m512i key) {
  return nbdcrypt::test::each_lane([&](int i) { return _mm_aesdec_si128(a.lane[i], key.lane[i]); });
}
inline __m512i _mm512_aesdeclast_epi128(__m512i a, __m512i key) {
  return nbdcrypt::test::each_lane([&](int i) { return _mm_aesdeclast_si128(a.lane[i], key.lane[i]); });
}
