// SPDX-License-Identifier: Apache-2.0
#include "volume/volume.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <string>
#include <utility>

#include "base/error.h"
#include "volume/segment_io.h"

namespace nbdcrypt::volume {

using base::Error;
using base::Kind;

namespace {

bool is_sector_size(std::uint32_t bytes) {
  return bytes >= 512 && bytes <= kMaxSectorBytes && std::has_single_bit(bytes);
}

// Throws Error{format} unless the segment begins at `expected_offset` and lies in the store.
void check_segment(const CipherSegment& of, std::uint64_t expected_offset, const Store& store,
                   const std::string& name) {
  const Segment& segment = of.segment;
  const auto refuse = [&](const std::string& why) { throw Error(Kind::format, name + ": " + why); };
  const std::uint32_t sector_bytes = segment.layout.sector_bytes;
  if (!is_sector_size(sector_bytes))
    refuse("sectors of " + std::to_string(sector_bytes) + " bytes, expected 512 to 4096");
  if (of.cipher->sector_bytes() != sector_bytes) refuse("its cipher has sectors of another size");
  if (segment.volume_offset != expected_offset) {
    refuse("begins at " + std::to_string(segment.volume_offset) + ", expected " + std::to_string(expected_offset));
  }
  if (segment.bytes % sector_bytes != 0) {
    refuse(std::to_string(segment.bytes) + " bytes are not a whole number of " + std::to_string(sector_bytes) +
           "-byte sectors");
  }
  if (segment.store_offset > store.size() || segment.bytes > store.size() - segment.store_offset) {
    refuse(std::to_string(segment.bytes) + " bytes at " + std::to_string(segment.store_offset) +
           " reach beyond the image's " + std::to_string(store.size()));
  }
}

// The same for a store that takes whole blocks alone.
void check_alignment(const Segment& segment, const Store& store) {
  const std::uint64_t begin = segment.store_offset, sector = segment.layout.sector_bytes, block = store.alignment();
  if (begin % block == 0 && sector % block == 0) return;
  throw Error(Kind::unsupported, store.name() + ": direct: needs whole blocks of " + std::to_string(block) +
                                     " bytes, but the data begins at " + std::to_string(begin) +
                                     " and has sectors of " + std::to_string(sector));
}

}  // namespace

Volume::Volume(std::unique_ptr<Store> store, std::vector<CipherSegment> segments, Options options)
    : store_(std::move(store)), segments_(std::move(segments)), options_(options), size_(0), sector_bytes_(0) {
  if (segments_.empty()) throw Error(Kind::format, store_->name() + ": no segments");
  for (const CipherSegment& next : segments_) {
    check_segment(next, size_, *store_, store_->name() + ": segment " + std::to_string(&next - segments_.data()));
    check_alignment(next.segment, *store_);
    if (size_ + next.segment.bytes < size_)
      throw Error(Kind::format, store_->name() + ": segments of 2^64 bytes or more");
    size_ += next.segment.bytes;
    sector_bytes_ = std::max(sector_bytes_, next.segment.layout.sector_bytes);
  }
}

const CipherSegment& Volume::segment_at(std::uint64_t offset) const noexcept {
  const auto after =
      std::upper_bound(segments_.begin(), segments_.end(), offset,
                       [](std::uint64_t at, const CipherSegment& of) { return at < of.segment.volume_offset; });
  return *std::prev(after);
}

// f(io, begin, done, n): the n bytes from `begin` of io's segment, which come after `done` bytes of the request.
template <class F>
void Volume::for_each_piece(std::uint64_t offset, std::uint64_t bytes, F&& f) {
  for (std::uint64_t done = 0; done < bytes;) {
    const CipherSegment& of = segment_at(offset + done);
    const std::uint64_t begin = offset + done - of.segment.volume_offset;
    const std::uint64_t n = std::min(bytes - done, of.segment.bytes - begin);
    f(SegmentIo(*store_, locks_, scratch_, of), begin, done, n);
    done += n;
  }
}

void Volume::require_writable() const {
  if (options_.read_only) throw Error(Kind::usage, store_->name() + ": the volume is read-only", EROFS);
}

void Volume::require_inside(const char* action, std::uint64_t offset, std::uint64_t bytes, int os_error) const {
  if (offset <= size_ && bytes <= size_ - offset) return;
  throw Error(Kind::usage,
              store_->name() + ": " + action + " of " + std::to_string(bytes) + " bytes at " + std::to_string(offset) +
                  ": beyond the end of the volume, " + std::to_string(size_) + " bytes",
              os_error);
}

void Volume::read(std::uint64_t offset, std::span<Byte> out) {
  require_inside("read", offset, out.size(), EINVAL);
  for_each_piece(offset, out.size(),
                 [&](const SegmentIo& io, std::uint64_t begin, std::uint64_t done, std::uint64_t n) {
                   io.read(begin, out.subspan(done, n));
                 });
}

void Volume::write(std::uint64_t offset, std::span<const Byte> in, bool durable) {
  require_writable();
  require_inside("write", offset, in.size(), ENOSPC);
  for_each_piece(offset, in.size(), [&](const SegmentIo& io, std::uint64_t begin, std::uint64_t done, std::uint64_t n) {
    io.write(begin, n, Plaintext::of(in.data() + done));
  });
  if (durable) store_->flush();
}

void Volume::zero(std::uint64_t offset, std::uint64_t bytes, bool durable) {
  require_writable();
  require_inside("zero", offset, bytes, ENOSPC);
  for_each_piece(offset, bytes, [](const SegmentIo& io, std::uint64_t begin, std::uint64_t, std::uint64_t n) {
    io.write(begin, n, Plaintext::zeros());
  });
  if (durable) store_->flush();
}

void Volume::trim(std::uint64_t offset, std::uint64_t bytes, bool durable) {
  require_writable();
  require_inside("trim", offset, bytes, EINVAL);
  if (!options_.allow_discards) return;
  for_each_piece(offset, bytes,
                 [](const SegmentIo& io, std::uint64_t begin, std::uint64_t, std::uint64_t n) { io.trim(begin, n); });
  if (durable) store_->flush();
}

void Volume::flush() { store_->flush(); }

void Volume::prefetch(std::uint64_t offset, std::uint64_t bytes) {
  require_inside("prefetch", offset, bytes, EINVAL);
  for_each_piece(offset, bytes, [](const SegmentIo& io, std::uint64_t begin, std::uint64_t, std::uint64_t n) {
    io.prefetch(begin, n);
  });
}

}  // namespace nbdcrypt::volume
