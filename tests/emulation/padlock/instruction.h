// SPDX-License-Identifier: Apache-2.0
//
// The instruction by itself, as the programming guide has it, for tests of the emulation.
#pragma once

#include <cstddef>
#include <cstdint>

namespace nbdcrypt::test::padlock {

using Byte = std::uint8_t;

enum class Xcrypt { ecb, cbc, ctr, cfb, ofb };

/// Key, control word and IV, as the unit wants them: aligned, and 256 bytes of key to be read.
struct alignas(16) Context {
  Byte iv[16] = {};
  std::uint32_t control[4] = {};
  Byte key[256] = {};
};

struct After {
  const Byte *iv, *in, *out;
  std::size_t blocks;
};

/// `rep xcrypt`; what the registers hold behind it.
After xcrypt(Xcrypt mode, Context& context, const Byte* in, Byte* out, std::size_t blocks);

/// Loads EFLAGS.
void reload();

}  // namespace nbdcrypt::test::padlock
