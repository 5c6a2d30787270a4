// SPDX-License-Identifier: Apache-2.0
#include "tests/modes/limited_backend.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "aes/registry.h"
#include "modes/generic_modes.h"

namespace nbdcrypt::test {
namespace {

using modes::generic::Forms;

aes::Limits limits;
KernelLog seen;

// In the order of aes::Op.
constexpr const Forms* kForms[aes::kOps] = {
    &modes::generic::ecb_encrypt, &modes::generic::ecb_decrypt, &modes::generic::cbc_encrypt,
    &modes::generic::cbc_decrypt, &modes::generic::cfb_encrypt, &modes::generic::cfb_decrypt,
    &modes::generic::ofb,         &modes::generic::ctr,         &modes::generic::ctr32,
    &modes::generic::xts_encrypt, &modes::generic::xts_decrypt};

bool is_aligned(const aes::Byte* at, std::size_t align) { return reinterpret_cast<std::uintptr_t>(at) % align == 0; }

void check(const aes::Run& run) {
  const std::size_t bytes = run.unit * run.count;
  ++seen.calls;
  seen.largest_bytes = std::max(seen.largest_bytes, bytes);
  if (run.in >= seen.watched && run.in < seen.watched + seen.watched_bytes) ++seen.direct_calls;
  if (!is_aligned(run.in, limits.align) || !is_aligned(run.out, limits.align)) ++seen.misaligned;
  if (run.iv != nullptr && !is_aligned(run.iv, limits.iv_align)) ++seen.misaligned;
  if (bytes > limits.max_bytes) ++seen.too_large;
  if (bytes == 0 || run.unit % aes::kBlockBytes != 0) ++seen.not_whole_blocks;
  if (run.in != run.out && run.in < run.out + bytes && run.out < run.in + bytes) ++seen.overlapping;
}

void read_all(const aes::Byte* from, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) static_cast<void>(*static_cast<const volatile aes::Byte*>(from + i));
}

template <std::size_t kOp>
void kernel(const aes::Key& key, const aes::Run& run) noexcept {
  check(run);
  const std::size_t bytes = run.unit * run.count, chain_bytes = kOp <= aes::ecb_dec ? bytes : run.unit;
  const bool is_whole = limits.fetch > 0 && chain_bytes % limits.fetch == 0;
  read_all(run.in, bytes + (is_whole ? 0 : limits.overread));
  kForms[kOp]->batched(*aes::by_name("generic"), key, run);
}

template <std::size_t... kEach>
aes::Offload kernels(std::index_sequence<kEach...>) {
  return {.of = {kernel<kEach>...}};
}

}  // namespace

aes::Backend limited_backend(const aes::Limits& wanted) {
  limits = wanted;
  seen = {};
  aes::Backend backend = *aes::by_name("generic");
  backend.name = "limited";
  backend.offload = kernels(std::make_index_sequence<aes::kOps>());
  backend.limits = wanted;
  return backend;
}

KernelLog& kernel_log() { return seen; }

}  // namespace nbdcrypt::test
