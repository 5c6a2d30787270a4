// SPDX-License-Identifier: Apache-2.0
#include "modes/stream_cipher.h"

#include <algorithm>
#include <string>

#include "aes/key_schedule.h"
#include "base/error.h"
#include "base/secret.h"
#include "modes/walk.h"

namespace nbdcrypt::modes {
namespace {

aes::Op op_of(StreamMode mode, bool encrypt) noexcept {
  switch (mode) {
    case StreamMode::cbc:
      return encrypt ? aes::cbc_enc : aes::cbc_dec;
    case StreamMode::cfb:
      return encrypt ? aes::cfb_enc : aes::cfb_dec;
    case StreamMode::ofb:
      return aes::ofb;
    case StreamMode::ctr:
      break;
  }
  return aes::ctr;
}

[[noreturn]] void refuse(StreamMode mode, const char* what, std::size_t bytes, const char* expected) {
  throw base::Error(base::Kind::usage, std::string(name_of(mode)) + ": " + what + " of " + std::to_string(bytes) +
                                           " bytes: expected " + expected);
}

}  // namespace

const char* name_of(StreamMode mode) noexcept {
  switch (mode) {
    case StreamMode::cbc:
      return "CBC";
    case StreamMode::cfb:
      return "CFB";
    case StreamMode::ofb:
      return "OFB";
    case StreamMode::ctr:
      break;
  }
  return "CTR";
}

StreamCipher::StreamCipher(const aes::Backend& backend, StreamMode mode, bool encrypt, std::span<const Byte> key,
                           std::span<const Byte> iv, Offload offload)
    : mode_(mode), encrypts_(encrypt), chain_(backend, op_of(mode, encrypt), offload) {
  restart(iv);
  if (!aes::make_key(backend, key, key_)) refuse(mode, "key", key.size(), "16, 24 or 32");
  forget_keys(backend);
}

void StreamCipher::restart(std::span<const Byte> iv) {
  if (iv.size() != kBlock) refuse(mode_, "IV", iv.size(), "16");
  std::copy(iv.begin(), iv.end(), iv_.begin());
  base::wipe(stream_);
  used_ = 0;
}

/// The keystream of the next block. OFB and CTR know by it what comes then; CFB collects the ciphertext in iv_.
void StreamCipher::begin_block() noexcept {
  chain_.backend().encrypt(key_, iv_.data(), stream_.data(), 1);
  if (mode_ == StreamMode::ofb) iv_ = stream_;
  if (mode_ == StreamMode::ctr) {
    generic::store_block(iv_.data(), generic::next_counter(generic::load_block(iv_.data())));
  }
}

void StreamCipher::take_bytes(std::span<const Byte> in, Byte* out) noexcept {
  if (in.empty()) return;
  if (used_ == 0) begin_block();
  for (std::size_t i = 0; i < in.size(); ++i) {
    const Byte given = in[i], made = given ^ stream_[used_ + i];
    if (mode_ == StreamMode::cfb) iv_[used_ + i] = encrypts_ ? made : given;
    out[i] = made;
  }
  used_ = (used_ + in.size()) % kBlock;
}

void StreamCipher::update(std::span<const Byte> in, Byte* out) {
  if (mode_ == StreamMode::cbc && in.size() % kBlock != 0) refuse(mode_, "part", in.size(), "whole blocks of 16");
  const std::size_t head = used_ == 0 ? 0 : std::min(kBlock - used_, in.size());
  take_bytes(in.first(head), out);
  in = in.subspan(head), out += head;
  const std::size_t tail = in.size() % kBlock, whole = in.size() - tail;
  if (whole > 0) { chain_.run(key_, {.in = in.data(), .out = out, .iv = iv_.data(), .unit = whole, .count = 1}); }
  take_bytes(in.subspan(whole), out + whole);
  forget_keys(chain_.backend());
}

}  // namespace nbdcrypt::modes
