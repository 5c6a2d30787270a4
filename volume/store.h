// SPDX-License-Identifier: Apache-2.0
//
// Where the ciphertext lies. A store reads and writes whole ranges or throws; it is safe to use from many threads.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/bytes.h"

namespace nbdcrypt::volume {

using base::Byte;

class Store {
 public:
  virtual ~Store() = default;

  /// How messages call it: the path as the user gave it.
  virtual const std::string& name() const noexcept = 0;
  virtual std::uint64_t size() const noexcept = 0;

  /// Reads or writes all of the range, or throws Error{io} with the errno. A short read is an error (EIO).
  virtual void read(std::uint64_t offset, std::span<Byte> out) = 0;
  virtual void write(std::uint64_t offset, std::span<const Byte> in) = 0;

  /// The range as memory to read instead of read(), or null. What is seen there counts only if view_holds() is true
  /// afterwards; else the range is to be read().
  virtual const Byte* view(std::uint64_t, std::size_t) const noexcept { return nullptr; }
  virtual bool view_holds(std::uint64_t, std::size_t) const noexcept { return false; }

  /// Makes everything written so far durable. A failure is latched: Linux reports a failed sync once and drops the
  /// pages, so every later flush fails as well.
  virtual void flush() = 0;

  /// Gives the range back; what is read there afterwards is undefined. Stores that cannot do that do nothing.
  virtual void trim(std::uint64_t offset, std::uint64_t bytes) = 0;

  /// Hints that the range will be read soon.
  virtual void prefetch(std::uint64_t offset, std::uint64_t bytes) = 0;

  /// What offsets, sizes and buffers of read() and write() must be multiples of; 1: nothing.
  virtual std::uint32_t alignment() const noexcept { return 1; }

  /// True when two overlapping writes leave the one or the other, never a mixture (regular files: the inode's lock,
  /// which direct writes may share).
  virtual bool writes_are_atomic() const noexcept = 0;
};

}  // namespace nbdcrypt::volume
