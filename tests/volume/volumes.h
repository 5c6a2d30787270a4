// SPDX-License-Identifier: Apache-2.0
//
// Volumes for tests, and the plain memory that they must behave like.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <ostream>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "aes/registry.h"
#include "base/error.h"
#include "volume/volume.h"

namespace nbdcrypt::test {

using base::Byte;
using Bytes = std::vector<Byte>;

/// A cipher and a sector size: what volumes differ in.
struct VolumeKind {
  const char* cipher;
  std::uint32_t sector_bytes;
  friend std::ostream& operator<<(std::ostream& out, const VolumeKind& kind) {
    return out << kind.cipher << " with sectors of " << kind.sector_bytes;
  }
};

/// XTS, and the one mode where half a sector garbles what comes after it; the smallest and the largest sector.
inline const VolumeKind kVolumeKinds[] = {
    {"aes-xts-plain64", 512}, {"aes-xts-plain64", 4096}, {"aes-cbc-essiv:sha256", 512}, {"aes-cbc-essiv:sha256", 4096}};

/// For INSTANTIATE_TEST_SUITE_P.
inline std::string name_of_kind(const testing::TestParamInfo<VolumeKind>& info) {
  return std::string(info.param.cipher).substr(4, 3) + "_" + std::to_string(info.param.sector_bytes);
}

inline constexpr Byte kKey[64] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 99};

inline volume::Segment segment(const VolumeKind& kind, std::uint64_t store_offset, std::uint64_t bytes,
                               std::uint64_t volume_offset = 0) {
  volume::Segment segment;
  segment.volume_offset = volume_offset;
  segment.store_offset = store_offset;
  segment.bytes = bytes;
  segment.cipher = modes::parse_cipher_spec(kind.cipher);
  segment.layout.sector_bytes = kind.sector_bytes;
  return segment;
}

inline base::Secret<modes::SectorCipher> cipher_of(const volume::Segment& segment) {
  const bool xts = segment.cipher.mode == modes::Mode::xts, essiv = segment.cipher.iv == modes::IvKind::essiv;
  const std::span<const Byte> key(kKey);
  return base::Secret<modes::SectorCipher>(
      std::in_place, aes::best(), segment.cipher, segment.layout,
      modes::SectorKeys{key.first(xts ? 64 : 32), essiv ? key.last(32) : std::span<const Byte>()});
}

inline volume::CipherSegment cipher_segment(const volume::Segment& of) { return {of, cipher_of(of)}; }

inline std::vector<volume::CipherSegment> segments(const std::vector<volume::Segment>& all) {
  std::vector<volume::CipherSegment> with_ciphers;
  for (const volume::Segment& of : all) with_ciphers.push_back(cipher_segment(of));
  return with_ciphers;
}

/// A volume of one segment over all of `store` behind its first `store_offset` bytes.
template <class StoreType>
volume::Volume volume_over(std::unique_ptr<StoreType> store, const VolumeKind& kind,
                           volume::Volume::Options options = {}, std::uint64_t store_offset = 0) {
  const std::uint64_t bytes = store->size() - store_offset;
  return volume::Volume(std::move(store), segments({segment(kind, store_offset, bytes)}), options);
}

inline Bytes random_bytes(std::mt19937_64& random, std::size_t count) {
  Bytes bytes(count);
  for (Byte& b : bytes) b = static_cast<Byte>(random());
  return bytes;
}

inline Bytes read(volume::Volume& volume, std::uint64_t offset, std::size_t bytes) {
  Bytes out(bytes, 0xee);
  volume.read(offset, out);
  return out;
}

/// The errno of the Error that `action` throws; -1 when it throws none.
template <class F>
int errno_of(F&& action) {
  try {
    action();
  } catch (const base::Error& error) { return error.os_error(); }
  return -1;
}

/// The text of the Error that `action` throws; empty when it throws none.
template <class F>
std::string message_of(F&& action) {
  try {
    action();
  } catch (const base::Error& error) { return error.what(); }
  return {};
}

}  // namespace nbdcrypt::test
