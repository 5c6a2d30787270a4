// SPDX-License-Identifier: Apache-2.0
//
// One side of a copy: a raw file or block device, an NBD export, or the plaintext of an encrypted volume. Requests have
// a beginning and an end, so that several can be under way where that helps (NBD); files do all of it in one of the
// two.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "volume/file_store.h"
#include "volume/volume.h"

namespace nbdcrypt::cli {

/// A request and its buffer, which must stay where it is until the request ended.
struct Transfer {
  std::vector<base::Byte> buffer;
  std::uint64_t offset = 0;
  std::size_t bytes = 0;
  std::int64_t ticket = 0;  // of the endpoint

  std::span<base::Byte> data() noexcept { return {buffer.data(), bytes}; }
};

class Endpoint {
 public:
  virtual ~Endpoint() = default;

  virtual const std::string& name() const noexcept = 0;  // as the user gave it
  virtual std::uint64_t size() const noexcept = 0;

  /// True for files: all of a request happens in end_read() and begin_write(), which several threads may call.
  virtual bool is_local() const noexcept { return false; }
  /// Says that these bytes will be read.
  virtual void prefetch(std::uint64_t, std::size_t) {}

  /// Every begin_... is followed by its end_..., in any order; each throws Error{io}.
  virtual void begin_read(Transfer& transfer) = 0;
  virtual void end_read(Transfer& transfer) = 0;
  virtual void begin_write(Transfer& transfer) = 0;
  virtual void end_write(Transfer& transfer) = 0;

  /// Makes durable what was written and keeps it. A file that was made for the copy goes away when this is never
  /// reached.
  virtual void finish() = 0;
};

/// True for "nbd://host", "nbd+unix:///?socket=..." and the like; "./nbd:x" is a file.
bool is_nbd_uri(const std::string& name);

/// An NBD export. Throws Error{device} when it cannot be reached, {usage} when it is to be written and is read-only.
std::unique_ptr<Endpoint> open_nbd(const std::string& uri, volume::Access access);

/// A file or block device that is there, locked against others. Throws as volume::open_image() and
/// volume::lock_image().
std::unique_ptr<Endpoint> open_raw(const std::string& path, volume::Access access);

/// A new sparse file of `bytes`, readable by its owner alone; stretches of zeros stay holes.
std::unique_ptr<Endpoint> create_raw(const std::string& path, std::uint64_t bytes);

std::unique_ptr<Endpoint> open_plaintext(std::unique_ptr<volume::Volume> volume);

/// True when every byte is zero.
bool all_zero(std::span<const base::Byte> bytes) noexcept;

}  // namespace nbdcrypt::cli
