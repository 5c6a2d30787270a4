// SPDX-License-Identifier: Apache-2.0
#include "modes/aead.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "aes/key_schedule.h"
#include "base/error.h"
#include "base/secret.h"
#include "modes/walk.h"

namespace nbdcrypt::modes {
namespace {

using aes::kBlockBytes;
using base::Error;
using base::Kind;

constexpr aes::Fused kNothingFused{};

[[noreturn]] void refuse(AeadMode mode, const std::string& what, std::uint64_t bytes, const std::string& expected) {
  throw Error(Kind::usage, std::string(name_of(mode)) + ": " + what + " of " + std::to_string(bytes) +
                               " bytes: expected " + expected);
}

void check_tag(AeadMode mode, std::uint64_t bytes) {
  switch (mode) {
    case AeadMode::ccm:
      if (bytes < 4 || bytes > 16 || bytes % 2 != 0) refuse(mode, "tag", bytes, "4, 6, 8, 10, 12, 14 or 16");
      break;
    case AeadMode::gcm:
      if (bytes != 4 && bytes != 8 && (bytes < 12 || bytes > 16)) refuse(mode, "tag", bytes, "4, 8 or 12 to 16");
      break;
    case AeadMode::eax:
    case AeadMode::ocb:
      if (bytes < 1 || bytes > 16) refuse(mode, "tag", bytes, "1 to 16");
      break;
  }
}

void check_nonce(AeadMode mode, std::uint64_t bytes) {
  constexpr std::uint64_t kMostGcm = (std::uint64_t{1} << 61) - 1;
  if (mode == AeadMode::ccm && (bytes < 7 || bytes > 13)) refuse(mode, "nonce", bytes, "7 to 13");
  if (mode == AeadMode::gcm && (bytes < 1 || bytes > kMostGcm)) refuse(mode, "nonce", bytes, "1 to 2^61 - 1");
  if (mode == AeadMode::ocb && (bytes < 1 || bytes > 15)) refuse(mode, "nonce", bytes, "1 to 15");
}

/// The longest text, and how it is written.
struct Most {
  std::uint64_t bytes;
  std::string text;
};

Most most_text(AeadMode mode, std::uint64_t nonce_bytes) {
  const Most any{UINT64_MAX, ""};
  switch (mode) {
    case AeadMode::ccm: {
      const std::uint64_t bits = 8 * (15 - nonce_bytes);
      if (bits == 64) return any;
      return {(std::uint64_t{1} << bits) - 1,
              "at most 2^" + std::to_string(bits) + " - 1 with a nonce of " + std::to_string(nonce_bytes)};
    }
    case AeadMode::gcm:
      return {(std::uint64_t{1} << 36) - 32, "at most 2^36 - 32"};
    case AeadMode::ocb:
      return {(std::uint64_t{1} << 61) - 1, "at most 2^61 - 1"};
    case AeadMode::eax:
      break;
  }
  return any;
}

/// Whether the first `bytes` bytes are equal, in a time that does not depend on them.
bool equal(const Byte* a, const Byte* b, std::size_t bytes) noexcept {
  Byte difference = 0;
  for (std::size_t i = 0; i < bytes; ++i) difference |= a[i] ^ b[i];
  asm volatile("" : "+r"(difference));  // the compiler knows nothing of it, and cannot leave the loop early
  return difference == 0;
}

std::variant<Ccm, Eax, Gcm, Ocb> make_cipher(AeadMode mode, const aes::Backend& backend, std::span<const Byte> key,
                                             Offload offload) {
  using Cipher = std::variant<Ccm, Eax, Gcm, Ocb>;
  switch (mode) {
    case AeadMode::ccm:
      return Cipher(std::in_place_type<Ccm>, backend, key, offload);
    case AeadMode::eax:
      return Cipher(std::in_place_type<Eax>, backend, key, offload);
    case AeadMode::gcm:
      return Cipher(std::in_place_type<Gcm>, backend, key, offload);
    case AeadMode::ocb:
      break;
  }
  return Cipher(std::in_place_type<Ocb>, backend, key, offload);
}

std::span<const Byte> checked_key(AeadMode mode, std::span<const Byte> key) {
  if (key.size() != 16 && key.size() != 24 && key.size() != 32) refuse(mode, "key", key.size(), "16, 24 or 32");
  return key;
}

}  // namespace

const char* name_of(AeadMode mode) noexcept {
  switch (mode) {
    case AeadMode::ccm:
      return "CCM";
    case AeadMode::eax:
      return "EAX";
    case AeadMode::gcm:
      return "GCM";
    case AeadMode::ocb:
      break;
  }
  return "OCB";
}

void check_lengths(AeadMode mode, std::uint64_t nonce_bytes, std::uint64_t ad_bytes, std::uint64_t text_bytes,
                   std::uint64_t tag_bytes) {
  check_tag(mode, tag_bytes);
  check_nonce(mode, nonce_bytes);
  const Most most = most_text(mode, nonce_bytes);
  if (text_bytes > most.bytes) refuse(mode, "text", text_bytes, most.text);
  const bool bounded = mode == AeadMode::gcm || mode == AeadMode::ocb;
  if (bounded && ad_bytes >> 61 != 0) refuse(mode, "associated data", ad_bytes, "at most 2^61 - 1");
}

AeadCipher::AeadCipher(const aes::Backend& backend, std::span<const Byte> key, Offload offload) noexcept
    : backend_(&backend),
      fused_(offload == Offload::off ? &kNothingFused : &backend.fused),
      calls_(&calls_of(backend)) {
  aes::make_key(backend, key, key_);
}

void AeadCipher::count_fused() const noexcept { calls_->fused.fetch_add(1, std::memory_order_relaxed); }

void AeadCipher::encrypt_blocks(const Byte* in, Byte* out, std::size_t blocks) const noexcept {
  backend_->encrypt(key_, in, out, blocks);
}

void AeadCipher::run(const Chain& chain, const Byte* in, Byte* out, Byte iv[16], std::size_t blocks) const noexcept {
  chain.run(key_, {.in = in, .out = out, .iv = iv, .unit = blocks * kBlockBytes, .count = 1});
}

void AeadCipher::mac(Byte state[16], const Byte* in, std::size_t blocks) const noexcept {
  if (fused_->mac) {
    count_fused();
    return fused_->mac(key_, state, in, blocks);
  }
  for (; blocks > 0; --blocks, in += kBlockBytes) {
    generic::xor_blocks(state, state, in, 1);
    encrypt_blocks(state, state, 1);
  }
}

void AeadCipher::ctr_tail(const Byte counter[16], std::span<const Byte> in, Byte* out) const noexcept {
  Byte stream[kBlockBytes];
  encrypt_blocks(counter, stream, 1);
  for (std::size_t i = 0; i < in.size(); ++i) out[i] = in[i] ^ stream[i];
}

/// A block of the MAC and one of the keystream go to the backend at once: of the same block where the MAC is of what
/// goes in, else that of the block behind it.
void AeadCipher::ctr_mac_by_blocks(MacOf which, const aes::MacRun& run) const noexcept {
  const bool of_output = which == MacOf::out;
  generic::Block counter = generic::load_block(run.counter);
  Byte pair[2 * kBlockBytes];  // the MAC's state, and a counter or keystream
  std::memcpy(pair, run.state, kBlockBytes);
  if (of_output) encrypt_blocks(run.counter, pair + kBlockBytes, 1);
  for (std::size_t at = 0; at < run.blocks * kBlockBytes; at += kBlockBytes) {
    const generic::Block in = generic::load_block(run.in + at);
    const generic::Block next = generic::next_counter(counter);
    if (of_output) generic::xor_blocks(run.out + at, run.in + at, pair + kBlockBytes, 1);
    generic::store_block(pair, generic::load_block(pair) ^ (of_output ? generic::load_block(run.out + at) : in));
    generic::store_block(pair + kBlockBytes, of_output ? next : counter);
    encrypt_blocks(pair, pair, 2);
    if (!of_output) generic::store_block(run.out + at, in ^ generic::load_block(pair + kBlockBytes));
    counter = next;
  }
  std::memcpy(run.state, pair, kBlockBytes);
  generic::store_block(run.counter, counter);
}

void AeadCipher::ctr_mac(MacOf which, Byte counter[16], Byte state[16], std::span<const Byte> in,
                         Byte* out) const noexcept {
  const std::size_t blocks = in.size() / kBlockBytes, whole = blocks * kBlockBytes;
  const auto kernel = which == MacOf::in ? fused_->ctr_mac_in : fused_->ctr_mac_out;
  if (kernel && blocks > 0) {
    count_fused();
    kernel(key_, {.in = in.data(), .out = out, .counter = counter, .state = state, .blocks = blocks});
  } else if (blocks > 0) {
    ctr_mac_by_blocks(which, {.in = in.data(), .out = out, .counter = counter, .state = state, .blocks = blocks});
  }
  if (whole < in.size()) ctr_tail(counter, in.subspan(whole), out + whole);
}

Aead::Aead(const aes::Backend& backend, AeadMode mode, std::span<const Byte> key, Offload offload)
    : backend_(&backend), mode_(mode), cipher_(make_cipher(mode, backend, checked_key(mode, key), offload)) {
  forget_keys(backend);
}

void Aead::crypt(bool encrypt, const AeadText& text, std::size_t tag_bytes, Byte tag[16]) const noexcept {
  // Not std::visit: it may throw.
  switch (mode_) {
    case AeadMode::ccm:
      std::get_if<Ccm>(&cipher_)->crypt(encrypt, text, tag_bytes, tag);
      break;
    case AeadMode::eax:
      std::get_if<Eax>(&cipher_)->crypt(encrypt, text, tag_bytes, tag);
      break;
    case AeadMode::gcm:
      std::get_if<Gcm>(&cipher_)->crypt(encrypt, text, tag_bytes, tag);
      break;
    case AeadMode::ocb:
      std::get_if<Ocb>(&cipher_)->crypt(encrypt, text, tag_bytes, tag);
      break;
  }
  forget_keys(*backend_);
}

void Aead::seal(std::span<const Byte> nonce, std::span<const Byte> ad, std::span<const Byte> plaintext, Byte* out,
                std::span<Byte> tag) const {
  check_lengths(mode_, nonce.size(), ad.size(), plaintext.size(), tag.size());
  Byte whole[kBlockBytes];
  crypt(true, {.nonce = nonce, .ad = ad, .in = plaintext, .out = out}, tag.size(), whole);
  std::copy_n(whole, tag.size(), tag.begin());
  base::wipe(whole);
}

bool Aead::open(std::span<const Byte> nonce, std::span<const Byte> ad, std::span<const Byte> ciphertext, Byte* out,
                std::span<const Byte> tag) const {
  check_lengths(mode_, nonce.size(), ad.size(), ciphertext.size(), tag.size());
  Byte right[kBlockBytes];
  crypt(false, {.nonce = nonce, .ad = ad, .in = ciphertext, .out = out}, tag.size(), right);
  const bool authentic = equal(right, tag.data(), tag.size());
  if (!authentic) base::wipe({out, ciphertext.size()});
  base::wipe(right);  // the right tag of a forged message is nobody's business
  return authentic;
}

}  // namespace nbdcrypt::modes
