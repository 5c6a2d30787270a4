// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aes/backend.h"

namespace nbdcrypt::aes {
namespace {

/// Where in a batch we are: the next block, the slot of its unit, and how much is left of that unit and of all.
struct Cursor {
  const Byte* in;
  Byte* out;
  Byte* iv;
  size_t unit_left, left;  // bytes
  size_t unit;

  explicit Cursor(const Run& run) noexcept
      : in(run.in), out(run.out), iv(run.iv), unit_left(run.unit), left(run.unit * run.count), unit(run.unit) {}

  /// Moves on by bytes <= unit_left.
  [[gnu::always_inline]] void advance(size_t bytes) noexcept {
    in += bytes, out += bytes, left -= bytes, unit_left -= bytes;
    if (unit_left == 0) unit_left = unit, iv += kBlockBytes;
  }
};

}  // namespace
}  // namespace nbdcrypt::aes
