// SPDX-License-Identifier: Apache-2.0
//
// What the tests of backends share: the backends, random data, buffers between guard pages, and a model of the
// operations that is slow and plain: one block at a time over the generic backend.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "aes/backend.h"

namespace nbdcrypt::test {

using aes::Byte;
using aes::kBlockBytes;
using Bytes = std::vector<Byte>;

inline constexpr std::size_t kKeyBytes[] = {16, 24, 32};
inline constexpr std::size_t kUnits[] = {16, 32, 48, 64, 112, 128, 496, 512, 1024, 2048, 4080, 4096};
inline constexpr std::size_t kMaxCount = 33;

/// registry all(), and the software backends that can run here.
std::vector<const aes::Backend*> tested_backends();

/// "x86_aesni", for the names of parameterised tests.
std::string test_name(const testing::TestParamInfo<const aes::Backend*>& backend);

const char* op_name(aes::Op op);

/// The operations that the backend offloads.
std::vector<aes::Op> offloaded(const aes::Backend& backend);

/// Bytes that depend on `seed` alone.
Bytes random_bytes(std::size_t count, std::uint64_t seed);

aes::Key test_key(const aes::Backend& backend, std::size_t key_bytes);

/// The operation by its definition (SP 800-38A, IEEE 1619), in the terms of aes::Run.
void model(aes::Op op, const aes::Key& key, const aes::Run& run);

/// What the model makes of the input and IVs of a batch of kMaxCount units; shorter batches are prefixes of it.
struct Expected {
  Bytes in, out, iv_in, iv_out;
};
const Expected& expected(aes::Op op, std::size_t key_bytes, std::size_t unit);

/// `size` bytes that begin right behind an inaccessible page, and as many that end right before one.
class Guarded {
 public:
  explicit Guarded(std::size_t size);
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;
  ~Guarded();
  Byte* at_start() const { return start_; }
  Byte* at_end() const { return end_ - size_; }

 private:
  std::size_t size_;
  Byte *start_, *end_;
};

}  // namespace nbdcrypt::test
