// SPDX-License-Identifier: Apache-2.0
//
// What this processor can do, and what the user forbids: NBDCRYPT_DISABLE_CPU=aesni,vaes,... masks features in every
// build, so that slower backends can be tested and compared on one machine. All names are known on all architectures.
#pragma once

#include <cstdint>
#include <string_view>

namespace nbdcrypt::aes::cpu {

enum Feature : std::uint64_t {
  ssse3 = 1u << 0,
  sse41 = 1u << 1,
  aesni = 1u << 2,
  pclmul = 1u << 3,
  avx = 1u << 4,
  avx2 = 1u << 5,
  vaes = 1u << 6,
  vpclmul = 1u << 7,
  avx512 = 1u << 8,  // F, BW, DQ and VL, enabled by the system
  ace = 1u << 9,     // VIA PadLock: the Advanced Cryptography Engine, there and enabled
  ace2 = 1u << 10,   // its second version, which counts (CTR)

  spe = std::uint64_t{1} << 32,      // PowerPC e500: Signal Processing Engine
  vcrypto = std::uint64_t{1} << 33,  // POWER8: AES and carry-less multiplication in vector registers

  armaes = std::uint64_t{1} << 40,
  pmull = std::uint64_t{1} << 41,
};

/// The names of all features in the spelling of NBDCRYPT_DISABLE_CPU, "aesni, avx, ...".
std::string_view known_names() noexcept;

/// A list of feature names, separated by commas (spaces around them are ignored), as a mask. What builds on a named
/// feature is masked with it: "aesni" takes vaes along. The first unknown name is in `unknown` (a view into the text).
struct Mask {
  std::uint64_t features = 0;
  std::string_view unknown;
};
Mask parse_mask(std::string_view names) noexcept;

/// The mask of the environment; read once.
const Mask& disabled() noexcept;

/// The features of this processor that its operating system has enabled. One definition per architecture (cpu_*.cpp).
std::uint64_t detect() noexcept;

/// detect() without disabled(); computed once.
std::uint64_t features() noexcept;

}  // namespace nbdcrypt::aes::cpu
