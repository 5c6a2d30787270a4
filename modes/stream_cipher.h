// SPDX-License-Identifier: Apache-2.0
//
// CBC, CFB, OFB and CTR (NIST SP 800-38A) over a message that comes in parts: any cut gives the same result as the
// whole. CFB has segments of 128 bits, the last of which may be shorter; the counter of CTR is all 128 bits of a block.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "aes/backend.h"
#include "modes/chain.h"

namespace nbdcrypt::modes {

using aes::Byte;

enum class StreamMode { cbc, cfb, ofb, ctr };
const char* name_of(StreamMode mode) noexcept;  // "CBC", ...

class StreamCipher {
 public:
  /// Throws Error{usage} unless the key has 16, 24 or 32 bytes and the IV 16. Holds round keys: construct it in a
  /// base::Secret.
  StreamCipher(const aes::Backend& backend, StreamMode mode, bool encrypt, std::span<const Byte> key,
               std::span<const Byte> iv, Offload offload = Offload::batch);
  StreamCipher(const StreamCipher&) = delete;  // no second copy of the keys
  StreamCipher& operator=(const StreamCipher&) = delete;

  /// The next part, to out[in.size()], which may be the same but must not partly overlap it. Any alignment. CBC takes
  /// whole blocks, and throws Error{usage} for others before it writes anything; the other modes take any length.
  void update(std::span<const Byte> in, Byte* out);

  /// A new message with the same key. Throws as the constructor does.
  void restart(std::span<const Byte> iv);

 private:
  static constexpr std::size_t kBlock = aes::kBlockBytes;

  /// Bytes of a block that an earlier part began, or the last part ends in.
  void take_bytes(std::span<const Byte> in, Byte* out) noexcept;
  void begin_block() noexcept;

  StreamMode mode_;
  bool encrypts_;
  Chain chain_;
  aes::Key key_{};
  std::array<Byte, kBlock> iv_{};      // what the next whole block is chained to
  std::array<Byte, kBlock> stream_{};  // keystream of a block that has begun
  std::size_t used_ = 0;               // bytes of stream_ that are used up; 0: no block has begun
};

}  // namespace nbdcrypt::modes
