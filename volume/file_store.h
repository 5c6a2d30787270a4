// SPDX-License-Identifier: Apache-2.0
//
// A store in a regular file or on a block device.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>

#include "volume/page_cache_view.h"
#include "volume/store.h"

namespace nbdcrypt::volume {

/// A file descriptor that closes itself.
class FileDescriptor {
 public:
  explicit FileDescriptor(int fd = -1) noexcept : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(other.release()) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept;
  ~FileDescriptor();
  int get() const noexcept { return fd_; }
  explicit operator bool() const noexcept { return fd_ >= 0; }
  int release() noexcept;

 private:
  int fd_;
};

enum class Access { read_only, read_write };

/// Opens `path` (close-on-exec; never waits, not even for a FIFO's other end). Throws Error{device} when it is missing,
/// not ours to open, or neither a regular file nor a block device; a block device opened for writing is opened
/// exclusively (Error{busy} when it is mounted or mapped).
FileDescriptor open_image(const std::string& path, Access access);

/// Bytes of a regular file or block device. Throws Error{device} for anything else.
std::uint64_t size_of(int fd, const std::string& path);

/// Errors carry the system's errno: "disk.img: write of 4096 bytes at 8192: No space left on device". A file that was
/// cut short while it is open is an error of reading (EIO), never zeros. A store does not grow (ENOSPC).
class FileStore final : public Store {
 public:
  FileStore(std::string path, Access access);
  /// `fd`: of a regular file or block device; writable or not as it was opened.
  FileStore(std::string path, FileDescriptor fd);

  const std::string& name() const noexcept override { return path_; }
  std::uint64_t size() const noexcept override { return size_; }
  void read(std::uint64_t offset, std::span<Byte> out) override;
  void write(std::uint64_t offset, std::span<const Byte> in) override;
  void flush() override;
  void trim(std::uint64_t offset, std::uint64_t bytes) override;
  void prefetch(std::uint64_t offset, std::uint64_t bytes) override;
  std::uint32_t alignment() const noexcept override { return alignment_; }
  const Byte* view(std::uint64_t offset, std::size_t bytes) const noexcept override {
    return view_ ? view_->look(offset, bytes) : nullptr;
  }
  bool view_holds(std::uint64_t offset, std::size_t bytes) const noexcept override {
    return view_->holds(offset, bytes);
  }
  bool writes_are_atomic() const noexcept override { return regular_ && alignment_ == 1; }

  /// From now on past the page cache (O_DIRECT). Before the first request. Throws Error{unsupported} where the file
  /// system cannot do that.
  void bypass_page_cache();

  /// From now on large ranges that are in the page cache can be read there, by view(). Before the first request.
  void view_page_cache() { view_ = PageCacheView::of(fd_.get(), size_); }

  int fd() const noexcept { return fd_.get(); }

 private:
  std::string path_;
  FileDescriptor fd_;
  std::uint64_t size_;
  std::unique_ptr<PageCacheView> view_;
  bool regular_;
  bool writable_;
  std::uint32_t alignment_ = 1;
  std::mutex sync_;                            // one fdatasync at a time; guards failed_sync_
  std::atomic<std::uint64_t> syncs_begun_{0};  // written under sync_
  int failed_sync_ = 0;                        // the errno of the first failed sync
};

}  // namespace nbdcrypt::volume
