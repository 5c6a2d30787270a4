// SPDX-License-Identifier: Apache-2.0
//
// CPUID says what the processor has; XGETBV says which registers the operating system saves. A feature counts only when
// both agree. Sources: Intel SDM volume 1, 14.3 and 15.2-15.3 (detection of AVX, AVX2, AVX-512), volume 2, CPUID; VIA
// PadLock Programming Guide (ACE, ACE2), whose units have a bit each for "there" and for "enabled".
#include "aes/cpu_x86.h"

#include <cpuid.h>
#include <immintrin.h>

#include <cstring>

#include "aes/cpu.h"

namespace nbdcrypt::aes::cpu {
namespace {

Leaf standard_leaf(unsigned leaf) noexcept {
  Leaf of;
  __get_cpuid_count(leaf, 0, &of.eax, &of.ebx, &of.ecx, &of.edx);
  return of;
}

/// For leaves whose range __get_cpuid_count() does not know.
Leaf any_leaf(unsigned leaf) noexcept {
  Leaf of;
  __cpuid(leaf, of.eax, of.ebx, of.ecx, of.edx);
  return of;
}

constexpr std::uint64_t kYmmState = 0x06;  // xmm, ymm
constexpr std::uint64_t kZmmState = 0xe6;  // and the mask registers, the upper halves, zmm16 to zmm31

[[gnu::target("xsave")]] std::uint64_t saved_states() noexcept { return _xgetbv(0); }

constexpr unsigned kFirstCentaur = 0xC0000000, kPadlockLeaf = 0xC0000001;
constexpr unsigned kAce = 3u << 6, kAce2 = 3u << 8;  // there and enabled

}  // namespace

bool has_centaur_leaves(const Leaf& vendor) noexcept {
  char name[12];
  std::memcpy(name, &vendor.ebx, 4), std::memcpy(name + 4, &vendor.edx, 4), std::memcpy(name + 8, &vendor.ecx, 4);
  return std::memcmp(name, "CentaurHauls", 12) == 0 || std::memcmp(name, "  Shanghai  ", 12) == 0;
}

Cpuid query_cpuid() noexcept {
  Cpuid cpuid;
  cpuid.vendor = standard_leaf(0), cpuid.basic = standard_leaf(1), cpuid.extended = standard_leaf(7);
  // Elsewhere these leaves repeat another one.
  if (has_centaur_leaves(cpuid.vendor)) cpuid.centaur_range = any_leaf(kFirstCentaur);
  if (cpuid.centaur_range.eax >= kPadlockLeaf) cpuid.centaur = any_leaf(kPadlockLeaf);
  if (cpuid.basic.ecx & bit_OSXSAVE) cpuid.saved_states = saved_states();
  return cpuid;
}

std::uint64_t features_of(const Cpuid& cpuid) noexcept {
  const Leaf &basic = cpuid.basic, &extended = cpuid.extended;
  const bool ymm = (cpuid.saved_states & kYmmState) == kYmmState, zmm = (cpuid.saved_states & kZmmState) == kZmmState;
  constexpr unsigned kAvx512 = bit_AVX512F | bit_AVX512BW | bit_AVX512DQ | bit_AVX512VL;
  const bool padlock = has_centaur_leaves(cpuid.vendor) && cpuid.centaur_range.eax >= kPadlockLeaf;
  const bool has_ace = padlock && (cpuid.centaur.edx & kAce) == kAce;

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
  add_if(has_ace, ace);
  add_if(has_ace && (cpuid.centaur.edx & kAce2) == kAce2, ace2);
  return found;
}

}  // namespace nbdcrypt::aes::cpu
