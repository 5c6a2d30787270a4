// SPDX-License-Identifier: Apache-2.0
//
// Reads and writes the plaintext of one segment: where sectors, locks and the store come together.
// A request is cut into parts: whole sectors, as many as fit a scratch buffer, and the partly covered sectors at its
// ends. Each part is a critical section of its own. A sector that is written in part is read, decrypted, patched,
// encrypted and written under an exclusive lock; whoever else touches a sector holds a shared one, so that nobody reads
// it half written (a page-cache read is not atomic against a write, and with CBC half a sector garbles bytes that
// nobody wrote) and no write of a neighbour is lost. Nothing here allocates.
#pragma once

#include <cstdint>
#include <span>

#include "volume/scratch.h"
#include "volume/segment.h"
#include "volume/store.h"
#include "volume/stripe_locks.h"

namespace nbdcrypt::volume {

/// The plaintext of a write: bytes of a request, or zeros without end.
class Plaintext {
 public:
  static Plaintext of(const Byte* bytes) noexcept { return Plaintext(bytes); }
  static Plaintext zeros() noexcept { return Plaintext(nullptr); }

  Plaintext skip(std::uint64_t bytes) const noexcept { return Plaintext(bytes_ == nullptr ? nullptr : bytes_ + bytes); }
  /// The first `bytes` of it, at most ScratchPool::kBufferBytes.
  std::span<const Byte> first(std::size_t bytes) const noexcept;

 private:
  explicit Plaintext(const Byte* bytes) noexcept : bytes_(bytes) {}
  const Byte* bytes_;  // null: zeros
};

/// Borrows everything; made for one request. `begin` counts bytes of plaintext from the segment's first; ranges lie
/// inside the segment. Errors are those of the store; a write that fails may have written a part before the one that
/// failed.
class SegmentIo {
 public:
  SegmentIo(Store& store, StripeLocks& locks, ScratchPool& scratch, const CipherSegment& of) noexcept
      : store_(store), locks_(locks), scratch_(scratch), segment_(of.segment), cipher_(*of.cipher) {}

  void read(std::uint64_t begin, std::span<Byte> out) const;
  void write(std::uint64_t begin, std::uint64_t bytes, Plaintext in) const;
  /// Gives back the whole sectors inside the range.
  void trim(std::uint64_t begin, std::uint64_t bytes) const;
  void prefetch(std::uint64_t begin, std::uint64_t bytes) const;

 private:
  using Mode = StripeLocks::Mode;

  void read_sectors(std::uint64_t begin, std::span<Byte> out) const;
  bool read_by_view(std::uint64_t begin, std::span<Byte> out) const;
  void read_sectors(std::uint64_t begin, std::span<Byte> out, Byte* ciphertext) const;
  void read_part_of_sector(std::uint64_t begin, std::span<Byte> out) const;
  void write_sectors(std::uint64_t begin, std::span<const Byte> in) const;
  void write_sectors(std::uint64_t begin, std::span<const Byte> in, Byte* scratch) const;
  void write_part_of_sector(std::uint64_t begin, std::span<const Byte> in) const;
  template <class F>
  void with_scratch(std::size_t bytes, F&& f) const;

  std::uint64_t sector_of(std::uint64_t begin) const noexcept { return begin / segment_.layout.sector_bytes; }
  std::uint64_t in_store(std::uint64_t begin) const noexcept { return segment_.store_offset + begin; }
  StripeLocks::Hold hold(std::uint64_t begin, std::uint64_t bytes, Mode mode) const noexcept;
  Mode mode_of_whole_writes() const noexcept { return store_.writes_are_atomic() ? Mode::shared : Mode::exclusive; }

  Store& store_;
  StripeLocks& locks_;
  ScratchPool& scratch_;
  const Segment& segment_;
  const modes::SectorCipher& cipher_;
};

}  // namespace nbdcrypt::volume
