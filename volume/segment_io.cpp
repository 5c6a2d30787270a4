// SPDX-License-Identifier: Apache-2.0
#include "volume/segment_io.h"

#include <algorithm>
#include <cstring>

namespace nbdcrypt::volume {
namespace {

// Not const, so that it lies in .bss: untouched pages of it are all the kernel's one page of zeros.
alignas(4096) Byte zero_area[ScratchPool::kBufferBytes];

// Requests up to here use the stack: below it, borrowing a buffer that other threads use too costs more than it saves.
// All buffers are aligned to kMaxSectorBytes: a store that asks for more cannot have such sectors.
constexpr std::size_t kSmallBytes = 16 * 1024;

// Cuts [begin, begin + bytes) at sector borders: part(done, n) for a partly covered sector, whole(done, n) for whole
// ones, n <= kBufferBytes; `done` bytes of the range come before it.
template <class Part, class Whole>
void for_each_cut(std::uint64_t begin, std::uint64_t bytes, std::uint64_t sector_bytes, Part&& part, Whole&& whole) {
  for (std::uint64_t done = 0; done < bytes;) {
    const std::uint64_t rest = bytes - done, skipped = (begin + done) % sector_bytes;
    const bool partly = skipped != 0 || rest < sector_bytes;
    const std::uint64_t n = partly ? std::min(rest, sector_bytes - skipped)
                                   : std::min<std::uint64_t>(rest - rest % sector_bytes, ScratchPool::kBufferBytes);
    partly ? part(done, static_cast<std::size_t>(n)) : whole(done, static_cast<std::size_t>(n));
    done += n;
  }
}

}  // namespace

std::span<const Byte> Plaintext::first(std::size_t bytes) const noexcept {
  return {bytes_ == nullptr ? zero_area : bytes_, bytes};
}

StripeLocks::Hold SegmentIo::hold(std::uint64_t begin, std::uint64_t bytes, Mode mode) const noexcept {
  return StripeLocks::Hold(locks_, segment_.volume_offset + begin, bytes, mode);
}

void SegmentIo::read(std::uint64_t begin, std::span<Byte> out) const {
  for_each_cut(
      begin, out.size(), segment_.layout.sector_bytes,
      [&](std::uint64_t done, std::size_t n) { read_part_of_sector(begin + done, out.subspan(done, n)); },
      [&](std::uint64_t done, std::size_t n) { read_sectors(begin + done, out.subspan(done, n)); });
}

// f(scratch): `bytes` of ciphertext, at most kBufferBytes. Not inlined, so that who needs no scratch has no room for it
// on its stack.
template <class F>
[[gnu::noinline]] void SegmentIo::with_scratch(std::size_t bytes, F&& f) const {
  if (bytes <= kSmallBytes) {
    alignas(kMaxSectorBytes) Byte buffer[kSmallBytes];
    f(buffer);
  } else {
    f(ScratchPool::Loan(scratch_).data());
  }
}

// From where the ciphertext lies, if the store can show it; else in place, unless the store cannot read to there.
void SegmentIo::read_sectors(std::uint64_t begin, std::span<Byte> out) const {
  if (read_by_view(begin, out)) return;
  if (reinterpret_cast<std::uintptr_t>(out.data()) % store_.alignment() == 0)
    return read_sectors(begin, out, out.data());
  with_scratch(out.size(), [&](Byte* scratch) { read_sectors(begin, out, scratch); });
}

bool SegmentIo::read_by_view(std::uint64_t begin, std::span<Byte> out) const {
  const Byte* const ciphertext = store_.view(in_store(begin), out.size());
  if (ciphertext == nullptr) return false;
  const auto locked = hold(begin, out.size(), Mode::shared);
  cipher_.decrypt(sector_of(begin), {ciphertext, out.size()}, out.data());
  return store_.view_holds(in_store(begin), out.size());
}

void SegmentIo::read_sectors(std::uint64_t begin, std::span<Byte> out, Byte* ciphertext) const {
  {
    const auto locked = hold(begin, out.size(), Mode::shared);
    store_.read(in_store(begin), {ciphertext, out.size()});
  }
  cipher_.decrypt(sector_of(begin), {ciphertext, out.size()}, out.data());
}

void SegmentIo::read_part_of_sector(std::uint64_t begin, std::span<Byte> out) const {
  alignas(kMaxSectorBytes) Byte buffer[kMaxSectorBytes];
  const std::span<Byte> sector(buffer, segment_.layout.sector_bytes);
  const std::uint64_t skipped = begin % sector.size();
  read_sectors(begin - skipped, sector);
  std::memcpy(out.data(), sector.data() + skipped, out.size());
  base::wipe(sector);  // plaintext that nobody asked for; some 60 ns beside a system call
}

void SegmentIo::write(std::uint64_t begin, std::uint64_t bytes, Plaintext in) const {
  for_each_cut(
      begin, bytes, segment_.layout.sector_bytes,
      [&](std::uint64_t done, std::size_t n) { write_part_of_sector(begin + done, in.skip(done).first(n)); },
      [&](std::uint64_t done, std::size_t n) { write_sectors(begin + done, in.skip(done).first(n)); });
}

void SegmentIo::write_sectors(std::uint64_t begin, std::span<const Byte> in) const {
  with_scratch(in.size(), [&](Byte* scratch) { write_sectors(begin, in, scratch); });
}

void SegmentIo::write_sectors(std::uint64_t begin, std::span<const Byte> in, Byte* scratch) const {
  cipher_.encrypt(sector_of(begin), in, scratch);
  const auto locked = hold(begin, in.size(), mode_of_whole_writes());
  store_.write(in_store(begin), {scratch, in.size()});
}

// All in place, so that what stays behind on the stack is ciphertext, also when the store throws.
void SegmentIo::write_part_of_sector(std::uint64_t begin, std::span<const Byte> in) const {
  alignas(kMaxSectorBytes) Byte buffer[kMaxSectorBytes];
  const std::span<Byte> sector(buffer, segment_.layout.sector_bytes);
  const std::uint64_t skipped = begin % sector.size(), sector_begin = begin - skipped;
  const auto locked = hold(sector_begin, sector.size(), Mode::exclusive);
  store_.read(in_store(sector_begin), sector);
  cipher_.decrypt(sector_of(begin), sector, sector.data());
  std::memcpy(sector.data() + skipped, in.data(), in.size());
  cipher_.encrypt(sector_of(begin), sector, sector.data());
  store_.write(in_store(sector_begin), sector);
}

// Without a lock: all bytes of these sectors are given up, so nobody who reads or writes them meanwhile can expect
// anything.
void SegmentIo::trim(std::uint64_t begin, std::uint64_t bytes) const {
  const std::uint64_t sector_bytes = segment_.layout.sector_bytes;
  const std::uint64_t first = (begin + sector_bytes - 1) / sector_bytes * sector_bytes;
  const std::uint64_t end = (begin + bytes) / sector_bytes * sector_bytes;
  if (first < end) store_.trim(in_store(first), end - first);
}

void SegmentIo::prefetch(std::uint64_t begin, std::uint64_t bytes) const { store_.prefetch(in_store(begin), bytes); }

}  // namespace nbdcrypt::volume
