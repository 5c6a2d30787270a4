// SPDX-License-Identifier: Apache-2.0
#include "modes/sector_cipher.h"

#include <algorithm>
#include <bit>
#include <string>

#include "aes/key_schedule.h"
#include "base/error.h"

namespace nbdcrypt::modes {
namespace {

using base::Error;
using base::Kind;

constexpr std::uint32_t kIvUnitBytes = 512;  // what dm-crypt counts, whatever the sector size

aes::Op op_of(Mode mode, bool encrypt) noexcept {
  switch (mode) {
    case Mode::ecb:
      return encrypt ? aes::ecb_enc : aes::ecb_dec;
    case Mode::cbc:
      return encrypt ? aes::cbc_enc : aes::cbc_dec;
    case Mode::xts:
      break;
  }
  return encrypt ? aes::xts_enc : aes::xts_dec;
}

void check(const CipherSpec& spec, const SectorLayout& layout, const SectorKeys& keys) {
  if (!std::has_single_bit(layout.sector_bytes) || layout.sector_bytes < 512 || layout.sector_bytes > 4096) {
    throw Error(Kind::usage,
                "sector size " + std::to_string(layout.sector_bytes) + ": expected 512, 1024, 2048 or 4096");
  }
  check_key_size(spec, keys.key.size());
  const std::size_t essiv_bytes = keys.essiv_key.size();
  if (spec.iv == IvKind::essiv && essiv_bytes != 16 && essiv_bytes != 24 && essiv_bytes != 32) {
    throw Error(Kind::usage, "cipher " + spec.text() + ": the hash gives a key of " + std::to_string(essiv_bytes * 8) +
                                 " bits, expected 128, 192 or 256");
  }
}

/// The key of the data: all of it, or the first half for XTS.
std::span<const Byte> data_key(Mode mode, std::span<const Byte> key) noexcept {
  return mode == Mode::xts ? key.first(key.size() / 2) : key;
}

}  // namespace

SectorCipher::SectorCipher(const aes::Backend& backend, const CipherSpec& spec, const SectorLayout& layout,
                           const SectorKeys& keys, Offload offload)
    : iv_(spec.iv),
      layout_(layout),
      encrypt_(backend, op_of(spec.mode, true), offload),
      decrypt_(backend, op_of(spec.mode, false), offload) {
  check(spec, layout, keys);
  const auto with_key = [&](std::optional<IvCipher>& cipher, std::span<const Byte> key) {
    cipher.emplace(IvCipher{.ecb = Chain(backend, aes::ecb_enc, offload), .key = {}});
    aes::make_key(backend, key, cipher->key);
  };
  aes::make_key(backend, data_key(spec.mode, keys.key), key_);
  if (spec.iv == IvKind::essiv) with_key(iv_cipher_, keys.essiv_key);
  if (spec.iv == IvKind::eboiv) with_key(iv_cipher_, keys.key);
  if (spec.mode == Mode::xts) with_key(tweak_cipher_, keys.key.last(keys.key.size() / 2));
  forget_keys(backend);
}

void SectorCipher::encrypt(std::uint64_t first_sector, std::span<const Byte> in, Byte* out) const noexcept {
  run(encrypt_, first_sector, in, out);
}

void SectorCipher::decrypt(std::uint64_t first_sector, std::span<const Byte> in, Byte* out) const noexcept {
  run(decrypt_, first_sector, in, out);
}

void SectorCipher::run(const Chain& chain, std::uint64_t first_sector, std::span<const Byte> in,
                       Byte* out) const noexcept {
  alignas(64) Byte iv[kBatchSectors * aes::kBlockBytes];
  const std::size_t sectors = in.size() / layout_.sector_bytes;
  for (std::size_t at = 0; at < sectors; at += kBatchSectors) {
    const std::size_t count = std::min(kBatchSectors, sectors - at);
    const std::size_t offset_bytes = at * layout_.sector_bytes;
    fill_ivs(first_sector + at, count, iv);
    chain.run(key_, {.in = in.data() + offset_bytes,
                     .out = out + offset_bytes,
                     .iv = iv,
                     .unit = layout_.sector_bytes,
                     .count = count});
  }
  forget_keys(backend());
}

void SectorCipher::fill_ivs(std::uint64_t first_sector, std::size_t count, Byte* iv) const noexcept {
  const std::uint64_t units_a_sector = layout_.sector_bytes / kIvUnitBytes;
  const SectorNumbers numbers{
      .first = layout_.first_iv + first_sector * units_a_sector,
      .step = units_a_sector,
      .shift = layout_.iv_large_sectors ? static_cast<unsigned>(std::countr_zero(units_a_sector)) : 0};
  fill_iv(iv_, numbers, layout_.sector_bytes, count, iv);
  const auto encrypt = [&](const std::optional<IvCipher>& cipher) {
    // A unit of one block for each sector: what goes to the backend at once is then the offload level's to say.
    if (cipher)
      cipher->ecb.run(cipher->key, {.in = iv, .out = iv, .iv = nullptr, .unit = aes::kBlockBytes, .count = count});
  };
  encrypt(iv_cipher_);
  encrypt(tweak_cipher_);
}

}  // namespace nbdcrypt::modes
