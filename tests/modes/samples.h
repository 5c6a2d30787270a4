// SPDX-License-Identifier: Apache-2.0
//
// What the tests of the modes have in common: repeatable data, keys, and the lists that they walk through.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "aes/key_schedule.h"
#include "aes/registry.h"
#include "modes/chain.h"

namespace nbdcrypt::test {

using Byte = std::uint8_t;
using Bytes = std::vector<Byte>;

/// `size` bytes that look random and are the same in every run (xorshift64).
inline Bytes some_bytes(std::size_t size, std::uint64_t seed) {
  Bytes bytes(size);
  std::uint64_t x = seed * 0x9e3779b97f4a7c15 + 1;
  for (Byte& byte : bytes) {
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    byte = static_cast<Byte>(x >> 32);
  }
  return bytes;
}

/// A buffer that begins `offset` bytes behind a 64-byte boundary.
class OffsetBuffer {
 public:
  OffsetBuffer(std::size_t size, std::size_t offset) : memory_(size + 128), size_(size) {
    const auto at = reinterpret_cast<std::uintptr_t>(memory_.data());
    data_ = memory_.data() + (64 - at % 64) + offset;
  }
  OffsetBuffer(const OffsetBuffer&) = delete;
  OffsetBuffer& operator=(const OffsetBuffer&) = delete;
  Byte* data() noexcept { return data_; }
  void assign(const Bytes& bytes) { std::copy(bytes.begin(), bytes.end(), data_); }
  Bytes bytes() const { return {data_, data_ + size_}; }

 private:
  Bytes memory_;
  std::size_t size_;
  Byte* data_;
};

inline aes::Key key_of(const aes::Backend& backend, std::span<const Byte> bytes) {
  aes::Key key{};
  EXPECT_TRUE(aes::make_key(backend, bytes, key)) << bytes.size() << " bytes";
  return key;
}

inline constexpr modes::Offload kLevels[] = {modes::Offload::off, modes::Offload::buffer, modes::Offload::batch};

inline std::vector<aes::Op> all_ops() {
  std::vector<aes::Op> ops;
  for (unsigned op = 0; op < aes::kOps; ++op) ops.push_back(static_cast<aes::Op>(op));
  return ops;
}

inline std::vector<const aes::Backend*> backends() { return {aes::all().begin(), aes::all().end()}; }

/// "x86-aesni" as part of a test's name.
inline std::string test_name(std::string name) {
  std::ranges::replace(name, '-', '_');
  return name;
}

inline std::string backend_name(const testing::TestParamInfo<const aes::Backend*>& info) {
  return test_name(info.param->name);
}

}  // namespace nbdcrypt::test
