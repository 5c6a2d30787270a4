// SPDX-License-Identifier: Apache-2.0
//
// Bytes, and integers in memory with a stated byte order. Header only; works on buffers of any alignment.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace nbdcrypt::base {

using Byte = std::uint8_t;

namespace detail {

constexpr std::uint64_t swap(std::uint64_t v) noexcept { return __builtin_bswap64(v); }
constexpr std::uint32_t swap(std::uint32_t v) noexcept { return __builtin_bswap32(v); }
constexpr std::uint16_t swap(std::uint16_t v) noexcept { return __builtin_bswap16(v); }

}  // namespace detail

/// Reads a little-endian `T` (16, 32 or 64 bits) from `from`[sizeof(T)].
template <class T>
T load_le(const Byte* from) noexcept {
  T value;
  std::memcpy(&value, from, sizeof value);
  return std::endian::native == std::endian::little ? value : detail::swap(value);
}

/// Reads a big-endian `T` from `from`[sizeof(T)].
template <class T>
T load_be(const Byte* from) noexcept {
  T value;
  std::memcpy(&value, from, sizeof value);
  return std::endian::native == std::endian::big ? value : detail::swap(value);
}

/// Writes `value` little-endian to `to`[sizeof(T)].
template <class T>
void store_le(Byte* to, T value) noexcept {
  if (std::endian::native != std::endian::little) value = detail::swap(value);
  std::memcpy(to, &value, sizeof value);
}

/// Writes `value` big-endian to `to`[sizeof(T)].
template <class T>
void store_be(Byte* to, T value) noexcept {
  if (std::endian::native != std::endian::big) value = detail::swap(value);
  std::memcpy(to, &value, sizeof value);
}

}  // namespace nbdcrypt::base
