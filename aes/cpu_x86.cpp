// SPDX-License-Identifier: Apache-2.0
//
// CPUID says what the processor has; XGETBV says which registers the operating system saves. A feature counts only when
// both agree. Source: Intel SDM volume 1, 14.3 and 15.2-15.3 (detection of AVX, AVX2, AVX-512), volume 2, CPUID.
#include <cpuid.h>
#include <immintrin.h>

#include "aes/cpu.h"

namespace nbdcrypt::aes::cpu {
namespace {

struct Leaf {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;  // all zero where the processor has no such leaf
};

Leaf cpuid(unsigned leaf) noexcept {
  Leaf of;
  __get_cpuid_count(leaf, 0, &of.eax, &of.ebx, &of.ecx, &of.edx);
  return of;
}

// XCR0: the register states that the system saves and restores.
constexpr std::uint64_t kYmmState = 0x06;  // xmm, ymm
constexpr std::uint64_t kZmmState = 0xe6;  // and the mask registers, the upper halves, zmm16 to zmm31

[[gnu::target("xsave")]] std::uint64_t saved_states() noexcept { return _xgetbv(0); }

}  // namespace

std::uint64_t detect() noexcept {
  const Leaf basic = cpuid(1), extended = cpuid(7);
  const std::uint64_t saved = basic.ecx & bit_OSXSAVE ? saved_states() : 0;
  const bool ymm = (saved & kYmmState) == kYmmState, zmm = (saved & kZmmState) == kZmmState;
  constexpr unsigned kAvx512 = bit_AVX512F | bit_AVX512BW | bit_AVX512DQ | bit_AVX512VL;

  std::uint64_t found = 0;
  const auto add_if = [&](bool has, Feature feature) { found |= has ? std::uint64_t{feature} : 0; };
  add_if(basic.ecx & bit_SSSE3, ssse3);
  add_if(basic.ecx & bit_SSE4_1, sse41);
  add_if(basic.ecx & bit_AES, aesni);
  add_if(basic.ecx & bit_PCLMUL, pclmul);
  add_if(ymm && basic.ecx & bit_AVX, avx);
  add_if(ymm && extended.ebx & bit_AVX2, avx2);
  add_if(ymm && extended.ecx & bit_VAES, vaes);
  add_if(ymm && extended.ecx & bit_VPCLMULQDQ, vpclmul);
  add_if(zmm && (extended.ebx & kAvx512) == kAvx512, avx512);
  return found;
}

}  // namespace nbdcrypt::aes::cpu
