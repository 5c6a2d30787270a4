// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "aes/cpu.h"
#include "tests/aes/software_backends.h"

namespace nbdcrypt::aes {
extern const Backend software_vaes512;  // aes/x86_vaes512.cpp, compiled with software_avx512/immintrin.h
}

namespace nbdcrypt::test {

std::span<const aes::Backend* const> software_backends() {
  static const aes::Backend vaes512 = [] {
    aes::Backend backend = aes::software_vaes512;
    backend.name = "software-vaes512";
    backend.needs = aes::cpu::aesni | aes::cpu::pclmul | aes::cpu::sse41;
    return backend;
  }();
  static const std::array<const aes::Backend*, 1> all = {&vaes512};
  return all;
}

}  // namespace nbdcrypt::test
