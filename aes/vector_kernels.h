// SPDX-License-Identifier: Apache-2.0
//
// All kernels of a backend whose vector type is V (described in vector_rounds.h, vector_streams.h and vector_chains.h).
#pragma once

#include "aes/vector_chains.h"
#include "aes/vector_rounds.h"
#include "aes/vector_streams.h"

namespace nbdcrypt::aes {
namespace {

template <class V>
constexpr Offload vector_offload() noexcept {
  Offload table;
  table.of[ecb_enc] = ecb<V, Direction::encrypt>;
  table.of[ecb_dec] = ecb<V, Direction::decrypt>;
  table.of[cbc_enc] = chain<V, Chaining::cbc>;
  table.of[cbc_dec] = stream<V, FeedbackDecrypt<V, Feedback::cbc>>;
  table.of[cfb_enc] = chain<V, Chaining::cfb>;
  table.of[cfb_dec] = stream<V, FeedbackDecrypt<V, Feedback::cfb>>;
  table.of[ofb] = chain<V, Chaining::ofb>;
  table.of[ctr] = stream<V, Ctr<V, 128>>;
  table.of[ctr32] = stream<V, Ctr<V, 32>>;
  table.of[xts_enc] = stream<V, Xts<V, Direction::encrypt>>;
  table.of[xts_dec] = stream<V, Xts<V, Direction::decrypt>>;
  return table;
}

}  // namespace
}  // namespace nbdcrypt::aes
