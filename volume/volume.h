// SPDX-License-Identifier: Apache-2.0
//
// A volume: plaintext by byte offset over a store of ciphertext. Safe to use from many threads; every function does all
// of its work or throws Error. See docs/architecture.md, "One write, from socket to disk".
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "modes/sector_cipher.h"
#include "volume/scratch.h"
#include "volume/segment.h"
#include "volume/store.h"
#include "volume/stripe_locks.h"

namespace nbdcrypt::volume {

class Volume {
 public:
  struct Options {
    bool read_only = false;
    bool allow_discards = false;
  };

  /// Segments in order, without gaps, from offset 0, at least one. Throws Error{format} when they are not, when one
  /// reaches beyond the store, or its length is not a whole number of its sectors.
  Volume(std::unique_ptr<Store> store, std::vector<CipherSegment> segments, Options options);

  std::uint64_t size() const noexcept { return size_; }
  /// The largest sector of any segment: what a client had better align its requests to.
  std::uint32_t sector_bytes() const noexcept { return sector_bytes_; }
  bool read_only() const noexcept { return options_.read_only; }
  bool allow_discards() const noexcept { return options_.allow_discards; }
  const Store& store() const noexcept { return *store_; }
  const modes::SectorCipher& cipher() const noexcept { return *segments_.front().cipher; }
  const Segment& segment() const noexcept { return segments_.front().segment; }

  /// Ranges must lie inside the volume, else Error{usage} with EINVAL (reads and trims) or ENOSPC (writes and zeros).
  /// Errors of the store pass through. No request allocates memory.
  void read(std::uint64_t offset, std::span<Byte> out);
  /// Writes any range; sectors that are covered in part are read, decrypted, patched, encrypted and written under an
  /// exclusive lock. `durable`: on disk when it returns (FUA). Throws EROFS on a read-only volume, as zero() and trim()
  /// do.
  void write(std::uint64_t offset, std::span<const Byte> in, bool durable = false);
  /// Writes encrypted zeros, never a hole.
  void zero(std::uint64_t offset, std::uint64_t bytes, bool durable = false);
  /// Gives whole sectors back where discards are allowed; otherwise, and for parts of sectors, does nothing.
  void trim(std::uint64_t offset, std::uint64_t bytes, bool durable = false);
  void flush();
  void prefetch(std::uint64_t offset, std::uint64_t bytes);

 private:
  template <class F>
  void for_each_piece(std::uint64_t offset, std::uint64_t bytes, F&& f);
  const CipherSegment& segment_at(std::uint64_t offset) const noexcept;
  void require_writable() const;
  void require_inside(const char* action, std::uint64_t offset, std::uint64_t bytes, int os_error) const;

  std::unique_ptr<Store> store_;
  std::vector<CipherSegment> segments_;
  Options options_;
  std::uint64_t size_;
  std::uint32_t sector_bytes_;
  StripeLocks locks_;
  ScratchPool scratch_;
};

}  // namespace nbdcrypt::volume
