// SPDX-License-Identifier: Apache-2.0
#include <libcryptsetup.h>

#include "volume/kdf_benchmark.h"

namespace nbdcrypt::volume {
namespace {

constexpr std::uint32_t kMaxMemoryKib = 1048576, kMaxThreads = 4;  // defaults of LUKS2

}  // namespace

std::optional<KdfSpeed> measure_kdf(const std::string& type, const std::string& hash) {
  crypt_pbkdf_type pbkdf{};
  pbkdf.type = type.c_str();
  pbkdf.time_ms = kKdfTargetMs;
  if (type == CRYPT_KDF_PBKDF2) {
    pbkdf.hash = hash.c_str();
    pbkdf.time_ms = 1000;
  } else {
    pbkdf.max_memory_kb = kMaxMemoryKib;
    pbkdf.parallel_threads = kMaxThreads;
  }
  constexpr char kPassword[] = "passphrase", kSalt[] = "0123456789abcdef0123456789abcdef";
  const int result = crypt_benchmark_pbkdf(nullptr, &pbkdf, kPassword, sizeof kPassword - 1, kSalt, sizeof kSalt - 1,
                                           kKdfKeyBits / 8, nullptr, nullptr);
  if (result < 0) return std::nullopt;
  return KdfSpeed{pbkdf.iterations, pbkdf.max_memory_kb, pbkdf.parallel_threads};
}

}  // namespace nbdcrypt::volume
