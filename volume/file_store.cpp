// SPDX-License-Identifier: Apache-2.0
#include "volume/file_store.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/error.h"

namespace nbdcrypt::volume {

using base::Error;
using base::Kind;

FileDescriptor& FileDescriptor::operator=(FileDescriptor&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

FileDescriptor::~FileDescriptor() {
  if (fd_ >= 0) close(fd_);
}

int FileDescriptor::release() noexcept { return std::exchange(fd_, -1); }

namespace {

struct stat status_of(int fd, const std::string& path) {
  struct stat status;
  if (fstat(fd, &status) != 0) base::throw_open_error(path, errno);
  return status;
}

void require_image_type(const struct stat& status, const std::string& path) {
  if (S_ISREG(status.st_mode) || S_ISBLK(status.st_mode)) return;
  if (S_ISDIR(status.st_mode)) base::throw_open_error(path, EISDIR);
  throw Error(Kind::device, path + ": neither a regular file nor a block device");
}

// O_EXCL without O_CREAT means "not mounted, not mapped" for block devices, and has no meaning for files: open(2).
bool wants_exclusive(const std::string& path, Access access) {
  struct stat status;
  return access == Access::read_write && stat(path.c_str(), &status) == 0 && S_ISBLK(status.st_mode);
}

bool is_writable(int fd) { return (fcntl(fd, F_GETFL) & O_ACCMODE) != O_RDONLY; }

[[noreturn]] void throw_at(const std::string& path, const char* action, std::uint64_t offset, std::size_t bytes,
                           int os_error) {
  base::throw_os_error(path + ": " + action + " of " + std::to_string(bytes) + " bytes at " + std::to_string(offset),
                       os_error);
}

// The larger of what memory and offsets need. Kernels before 6.1 do not tell: a device then says its logical blocks,
// and a page is enough for any file.
std::uint32_t direct_alignment(int fd, bool regular) {
#ifdef STATX_DIOALIGN
  struct statx status = {};
  if (statx(fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &status) == 0 && (status.stx_mask & STATX_DIOALIGN) != 0)
    return std::max(status.stx_dio_mem_align, status.stx_dio_offset_align);  // 0: not at all
#endif
  int block_bytes = 0;
  if (!regular && ioctl(fd, BLKSSZGET, &block_bytes) == 0) return static_cast<std::uint32_t>(block_bytes);
  return 4096;
}

bool means_unsupported(int os_error) {
  // EINVAL: a block device whose discards are coarser than the range. Giving space back is a favour, not a promise.
  return os_error == EOPNOTSUPP || os_error == ENOSYS || os_error == ENOTTY || os_error == EINVAL;
}

}  // namespace

FileDescriptor open_image(const std::string& path, Access access) {
  int flags = (access == Access::read_only ? O_RDONLY : O_RDWR) | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
  if (wants_exclusive(path, access)) flags |= O_EXCL;
  FileDescriptor fd(open(path.c_str(), flags));
  if (!fd) base::throw_open_error(path, errno);
  require_image_type(status_of(fd.get(), path), path);
  fcntl(fd.get(), F_SETFL, fcntl(fd.get(), F_GETFL) & ~O_NONBLOCK);
  return fd;
}

std::uint64_t size_of(int fd, const std::string& path) {
  const struct stat status = status_of(fd, path);
  require_image_type(status, path);
  if (S_ISREG(status.st_mode)) return static_cast<std::uint64_t>(status.st_size);
  std::uint64_t bytes = 0;
  if (ioctl(fd, BLKGETSIZE64, &bytes) != 0) base::throw_open_error(path, errno);
  return bytes;
}

FileStore::FileStore(std::string path, Access access) : FileStore(path, open_image(path, access)) {}

FileStore::FileStore(std::string path, FileDescriptor fd)
    : path_(std::move(path)),
      fd_(std::move(fd)),
      size_(size_of(fd_.get(), path_)),
      regular_(S_ISREG(status_of(fd_.get(), path_).st_mode)),
      writable_(is_writable(fd_.get())) {}

void FileStore::bypass_page_cache() {
  const std::uint32_t alignment = direct_alignment(fd_.get(), regular_);
  if (alignment == 0 || fcntl(fd_.get(), F_SETFL, fcntl(fd_.get(), F_GETFL) | O_DIRECT) != 0)
    throw Error(Kind::unsupported, path_ + ": direct: its file system has no direct I/O");
  alignment_ = alignment;
}

void FileStore::read(std::uint64_t offset, std::span<Byte> out) {
  for (std::size_t done = 0; done < out.size();) {
    const ssize_t n = pread(fd_.get(), out.data() + done, out.size() - done, static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw_at(path_, "read", offset, out.size(), errno);
    if (n == 0) {
      throw Error(Kind::io,
                  path_ + ": read of " + std::to_string(out.size()) + " bytes at " + std::to_string(offset) +
                      ": the image ends at " + std::to_string(offset + done),
                  EIO);
    }
    done += static_cast<std::size_t>(n);
  }
}

void FileStore::write(std::uint64_t offset, std::span<const Byte> in) {
  if (offset > size_ || in.size() > size_ - offset) throw_at(path_, "write", offset, in.size(), ENOSPC);
  for (std::size_t done = 0; done < in.size();) {
    const ssize_t n = pwrite(fd_.get(), in.data() + done, in.size() - done, static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw_at(path_, "write", offset, in.size(), errno);
    if (n == 0) throw_at(path_, "write", offset, in.size(), EIO);
    done += static_cast<std::size_t>(n);
  }
}

// The kernel tells a failed sync to one caller only, so two at a time must not be in there: the second could return
// success before the first has latched its failure. One that waited while a whole sync went by needs none of its own.
void FileStore::flush() {
  if (!writable_) return;
  const std::uint64_t begun_before = syncs_begun_;
  std::lock_guard one_at_a_time(sync_);
  if (failed_sync_ != 0) base::throw_os_error(path_ + ": an earlier flush failed", failed_sync_);
  if (syncs_begun_ != begun_before) return;
  ++syncs_begun_;
  while (fdatasync(fd_.get()) != 0) {
    if (errno == EINTR) continue;
    failed_sync_ = errno;
    base::throw_os_error(path_ + ": flush", failed_sync_);
  }
}

void FileStore::trim(std::uint64_t offset, std::uint64_t bytes) {
  if (bytes == 0) return;
  int result;
  do {
    std::uint64_t range[2] = {offset, bytes};
    result = regular_ ? fallocate(fd_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
                                  static_cast<off_t>(bytes))
                      : ioctl(fd_.get(), BLKDISCARD, range);
  } while (result != 0 && errno == EINTR);
  if (result != 0 && !means_unsupported(errno)) throw_at(path_, "trim", offset, bytes, errno);
}

void FileStore::prefetch(std::uint64_t offset, std::uint64_t bytes) {
  if (alignment_ > 1) return;  // there is no cache to read ahead into
  posix_fadvise(fd_.get(), static_cast<off_t>(offset), static_cast<off_t>(bytes), POSIX_FADV_WILLNEED);
}

}  // namespace nbdcrypt::volume
