// SPDX-License-Identifier: Apache-2.0
#include <immintrin.h>

#include <limits>
#include <map>
#include <utility>

#include "bench/limit/limit.h"
#include "bench/tables/timing.h"

namespace nbdcrypt::bench {
namespace {

constexpr std::size_t kInFlight = 12;  // four cycles of latency, up to two instructions a cycle, and some to spare
constexpr std::size_t kBlocks = 512;   // one after the other in each

// The compiler has to believe that somebody wants these values.
template <class Vector>
void keep(Vector& vector) {
  __asm__ volatile("" : "+x"(vector));
}

[[gnu::target("aes")]] void pass_xmm(int rounds) {
  __m128i x[kInFlight] = {};
  const __m128i key = _mm_set1_epi32(0x5a5a1234);
  for (std::size_t block = 0; block < kBlocks; ++block) {
    for (int r = 0; r < rounds; ++r) {
      for (__m128i& v : x) v = _mm_aesenc_si128(v, key);
    }
    for (__m128i& v : x) keep(v);
  }
}

[[gnu::target("vaes,avx2")]] void pass_ymm(int rounds) {
  __m256i x[kInFlight] = {};
  const __m256i key = _mm256_set1_epi32(0x5a5a1234);
  for (std::size_t block = 0; block < kBlocks; ++block) {
    for (int r = 0; r < rounds; ++r) {
      for (__m256i& v : x) v = _mm256_aesenc_epi128(v, key);
    }
    for (__m256i& v : x) keep(v);
  }
}

[[gnu::target("vaes,avx512f")]] void pass_zmm(int rounds) {
  __m512i x[kInFlight] = {};
  const __m512i key = _mm512_set1_epi32(0x5a5a1234);
  for (std::size_t block = 0; block < kBlocks; ++block) {
    for (int r = 0; r < rounds; ++r) {
      for (__m512i& v : x) v = _mm512_aesenc_epi128(v, key);
    }
    for (__m512i& v : x) __asm__ volatile("" : "+v"(v));
  }
}

struct Microkernel {
  void (*pass)(int rounds);
  std::size_t vector_bytes;
};

Microkernel microkernel_of(const std::string& backend) {
  if (backend == "x86-aesni") return {pass_xmm, 16};
  if (backend == "x86-vaes256") return {pass_ymm, 32};
  if (backend == "x86-vaes512") return {pass_zmm, 64};
  return {nullptr, 0};
}

}  // namespace

double limit_mb_per_s(const std::string& backend, std::size_t key_bits) {
  static std::map<std::pair<std::string, std::size_t>, double> measured;
  const Microkernel kernel = microkernel_of(backend);
  if (kernel.pass == nullptr) return std::numeric_limits<double>::quiet_NaN();
  double& limit = measured[{backend, key_bits}];
  if (limit == 0) {
    const int rounds = static_cast<int>(key_bits / 32) + 6;  // FIPS 197, section 5
    limit = measure({[&] { kernel.pass(rounds); }}, kInFlight * kBlocks * kernel.vector_bytes, 0.1).front().mb_per_s;
  }
  return limit;
}

}  // namespace nbdcrypt::bench
