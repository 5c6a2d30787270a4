// SPDX-License-Identifier: Apache-2.0
//
// The offload decision, and the limits of hardware that takes batches: alignment (cia_req_align of the 2005 interface),
// bytes read behind the input (PadLock's prefetch), bytes a call (cia_max_nbytes). A kernel without limits gets the
// batch as it is.
#include "modes/chain.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/secret.h"

namespace nbdcrypt::modes {
namespace {

using aes::Byte;
using aes::kBlockBytes;

constexpr std::size_t kMaxAlign = 64;
constexpr std::size_t kMaxOverread = 1024;
constexpr std::size_t kBounceBytes = 4096;

const generic::Forms* generic_forms(aes::Op op) noexcept {
  switch (op) {
    case aes::ecb_enc:
      return &generic::ecb_encrypt;
    case aes::ecb_dec:
      return &generic::ecb_decrypt;
    case aes::cbc_enc:
      return &generic::cbc_encrypt;
    case aes::cbc_dec:
      return &generic::cbc_decrypt;
    case aes::cfb_enc:
      return &generic::cfb_encrypt;
    case aes::cfb_dec:
      return &generic::cfb_decrypt;
    case aes::ofb:
      return &generic::ofb;
    case aes::ctr:
      return &generic::ctr;
    case aes::ctr32:
      return &generic::ctr32;
    case aes::xts_enc:
      return &generic::xts_encrypt;
    case aes::xts_dec:
      return &generic::xts_decrypt;
    case aes::kOps:
      break;
  }
  __builtin_unreachable();
}

bool is_aligned(const Byte* at, std::size_t align) noexcept {
  return reinterpret_cast<std::uintptr_t>(at) % align == 0;
}

bool has_limits(const aes::Limits& limits) noexcept {
  return limits.align > 1 || limits.iv_align > 1 || limits.overread > 0 || limits.max_bytes < SIZE_MAX;
}

/// `units` units of a batch from unit `first` on.
aes::Run slice(const aes::Run& batch, std::size_t first, std::size_t units) noexcept {
  return {.in = batch.in + first * batch.unit,
          .out = batch.out + first * batch.unit,
          .iv = batch.iv == nullptr ? nullptr : batch.iv + first * kBlockBytes,
          .unit = batch.unit,
          .count = units};
}

/// Cuts a batch into pieces of at most max_bytes: as many whole units as fit, or the parts of one unit in order, so
/// that its IV carries over. max_bytes: at least a block.
template <class F>
void for_each_piece(const aes::Run& batch, std::size_t max_bytes, F&& f) noexcept {
  const std::size_t units = max_bytes / batch.unit;
  if (units > 0) {
    for (std::size_t i = 0; i < batch.count; i += std::min(units, batch.count - i)) {
      f(slice(batch, i, std::min(units, batch.count - i)));
    }
    return;
  }
  // Parts begin where the unit is still aligned.
  const std::size_t part = max_bytes - max_bytes % (max_bytes < kMaxAlign ? kBlockBytes : kMaxAlign);
  for (std::size_t i = 0; i < batch.count; ++i) {
    for (std::size_t at = 0; at < batch.unit; at += std::min(part, batch.unit - at)) {
      aes::Run piece = slice(batch, i, 1);
      piece.in += at;
      piece.out += at;
      piece.unit = std::min(part, batch.unit - at);
      f(piece);
    }
  }
}

bool is_aligned(const aes::Run& piece, const aes::Limits& limits) noexcept {
  return is_aligned(piece.in, limits.align) && is_aligned(piece.out, limits.align) &&
         is_aligned(piece.iv, limits.iv_align);
}

}  // namespace

bool can_honour(const aes::Limits& limits) noexcept {
  return std::has_single_bit(limits.align) && limits.align <= kMaxAlign && std::has_single_bit(limits.iv_align) &&
         limits.iv_align <= kMaxAlign && limits.overread <= kMaxOverread && limits.max_bytes >= kBlockBytes &&
         (limits.fetch == 0 || (std::has_single_bit(limits.fetch) && limits.max_bytes % limits.fetch == 0));
}

void forget_keys(const aes::Backend& backend) noexcept {
  if (backend.clear_registers) backend.clear_registers();
  base::wipe_stack(backend.stack_bytes);
}

Chain::Chain(const aes::Backend& backend, aes::Op op, Offload offload) noexcept
    : backend_(&backend),
      calls_(&calls_of(backend)),
      kernel_(offload != Offload::off && can_honour(backend.limits) ? backend.offload.of[op] : nullptr),
      generic_mode_(offload == Offload::off ? generic_forms(op)->single : generic_forms(op)->batched),
      op_(op),
      offload_(offload),
      limited_(has_limits(backend.limits)) {}

void Chain::run(const aes::Key& key, const aes::Run& batch) const noexcept {
  if (batch.count == 0 || batch.unit == 0) return;
  if (offload_ != Offload::buffer) return run_whole(key, batch, 0);
  for (std::size_t i = 0; i < batch.count; ++i) {
    run_whole(key, slice(batch, i, 1), (batch.count - 1 - i) * batch.unit);
  }
}

void Chain::run_whole(const aes::Key& key, const aes::Run& batch, std::size_t readable_behind) const noexcept {
  if (kernel_ == nullptr) {
    calls_->blocks[op_].fetch_add(generic_mode_(*backend_, key, batch), std::memory_order_relaxed);
  } else if (limited_) {
    run_within_limits(key, batch, readable_behind);
  } else {
    call_kernel(key, batch);
  }
}

void Chain::run_within_limits(const aes::Key& key, const aes::Run& batch, std::size_t readable_behind) const noexcept {
  const aes::Limits& limits = backend_->limits;
  const auto is_whole = [&](std::size_t bytes) { return limits.fetch > 0 && bytes % limits.fetch == 0; };
  // ECB knows no units: those of a block, such as tweaks, are as good as one that is not read over.
  if (op_ <= aes::ecb_dec && batch.count > 1 && is_whole(batch.unit * batch.count)) {
    aes::Run one = batch;
    one.unit *= one.count, one.count = 1;
    return run_within_limits(key, one, readable_behind);
  }
  const std::size_t overread = is_whole(batch.unit) ? 0 : limits.overread;
  const std::size_t missing = overread - std::min(overread, readable_behind);
  // The last units, behind which the kernel would read what is not the caller's; all units where one bounce takes them.
  std::size_t tail = std::min((missing + batch.unit - 1) / batch.unit, batch.count);
  if (tail > 0 && batch.unit * batch.count <= kBounceBytes) tail = batch.count;
  for_each_piece(slice(batch, 0, batch.count - tail), limits.max_bytes, [&](const aes::Run& piece) {
    is_aligned(piece, limits) ? call_kernel(key, piece) : bounce(key, piece);
  });
  bounce(key, slice(batch, batch.count - tail, tail));
}

void Chain::bounce(const aes::Key& key, const aes::Run& batch) const noexcept {
  const aes::Limits& limits = backend_->limits;
  for_each_piece(batch, std::min(limits.max_bytes, kBounceBytes), [&](const aes::Run& piece) {
    alignas(kMaxAlign) Byte data[kBounceBytes + kMaxOverread];
    alignas(kMaxAlign) Byte iv[kBounceBytes];  // a unit is no smaller than its IV
    const std::size_t data_bytes = piece.count * piece.unit;
    const std::size_t iv_bytes = piece.iv == nullptr ? 0 : piece.count * kBlockBytes;
    std::memcpy(data, piece.in, data_bytes);
    std::memset(data + data_bytes, 0, limits.overread);
    if (iv_bytes > 0) std::memcpy(iv, piece.iv, iv_bytes);
    call_kernel(key,
                {.in = data, .out = data, .iv = iv_bytes > 0 ? iv : nullptr, .unit = piece.unit, .count = piece.count});
    if (iv_bytes > 0) std::memcpy(piece.iv, iv, iv_bytes);
    std::memcpy(piece.out, data, data_bytes);
  });
}

void Chain::call_kernel(const aes::Key& key, const aes::Run& piece) const noexcept {
  kernel_(key, piece);
  calls_->offload[op_].fetch_add(1, std::memory_order_relaxed);
}

}  // namespace nbdcrypt::modes
