// SPDX-License-Identifier: Apache-2.0
#include "tests/volume/system_calls.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <thread>

namespace nbdcrypt::test {

constinit SystemCalls system_calls{};

void SystemCalls::reset() {
  max_bytes = 0;
  interrupted = hold_fdatasync = false;
  pread_error = pwrite_error = fdatasync_error = fallocate_error = 0;
  transfers = fdatasyncs = 0;
  advised_offset = advised_bytes = -1;
}

namespace {

// True when the call is to fail, with errno set.
bool fails(int os_error) {
  static std::atomic<unsigned> calls{0};
  if (system_calls.interrupted && calls++ % 2 == 0) os_error = EINTR;
  errno = os_error;
  return os_error != 0;
}

std::size_t allowed(std::size_t bytes) {
  ++system_calls.transfers;
  const std::size_t most = system_calls.max_bytes;
  return most == 0 ? bytes : std::min(bytes, most);
}

}  // namespace

extern "C" {

ssize_t __real_pread(int fd, void* buffer, size_t bytes, off_t offset);
ssize_t __real_pwrite(int fd, const void* buffer, size_t bytes, off_t offset);
int __real_fdatasync(int fd);
int __real_fallocate(int fd, int mode, off_t offset, off_t bytes);
int __real_posix_fadvise(int fd, off_t offset, off_t bytes, int advice);

ssize_t __wrap_pread(int fd, void* buffer, size_t bytes, off_t offset) {
  const std::size_t n = allowed(bytes);
  return fails(system_calls.pread_error) ? -1 : __real_pread(fd, buffer, n, offset);
}

ssize_t __wrap_pwrite(int fd, const void* buffer, size_t bytes, off_t offset) {
  const std::size_t n = allowed(bytes);
  return fails(system_calls.pwrite_error) ? -1 : __real_pwrite(fd, buffer, n, offset);
}

int __wrap_fdatasync(int fd) {
  ++system_calls.fdatasyncs;
  while (system_calls.hold_fdatasync) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return fails(system_calls.fdatasync_error.exchange(0)) ? -1 : __real_fdatasync(fd);
}

int __wrap_fallocate(int fd, int mode, off_t offset, off_t bytes) {
  return fails(system_calls.fallocate_error) ? -1 : __real_fallocate(fd, mode, offset, bytes);
}

int __wrap_posix_fadvise(int fd, off_t offset, off_t bytes, int advice) {
  if (advice == POSIX_FADV_WILLNEED) {
    system_calls.advised_offset = offset;
    system_calls.advised_bytes = bytes;
  }
  return __real_posix_fadvise(fd, offset, bytes, advice);
}

}  // extern "C"

}  // namespace nbdcrypt::test
