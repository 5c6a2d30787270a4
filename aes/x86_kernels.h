// SPDX-License-Identifier: Apache-2.0
//
// What all x86 backends with AES instructions are made of.
#pragma once

#include "aes/vector_kernels.h"
#include "aes/x86_block.h"
#include "aes/x86_expand_key.h"
#include "aes/x86_gcm.h"
#include "aes/x86_mac.h"
#include "aes/x86_ocb.h"

namespace nbdcrypt::aes {
namespace {

template <class V>
constexpr Fused x86_fused() noexcept {
  return {.gcm_prepare = gcm_prepare<V>,
          .gcm_hash = gcm_hash<V>,
          .gcm_encrypt = gcm<V, Direction::encrypt>,
          .gcm_decrypt = gcm<V, Direction::decrypt>,
          .ocb_encrypt = ocb<V, Direction::encrypt>,
          .ocb_decrypt = ocb<V, Direction::decrypt>,
          .mac = cbc_mac,
          .ctr_mac_in = ctr_mac<false>,
          .ctr_mac_out = ctr_mac<true>};
}

}  // namespace
}  // namespace nbdcrypt::aes
