// SPDX-License-Identifier: Apache-2.0
//
// The system calls that file_store.cpp makes, as a bad day would answer them. The linker sends this program's calls
// through here (--wrap); all of them reach the kernel, unless a test asked for something else.
#pragma once

#include <atomic>
#include <cstddef>

namespace nbdcrypt::test {

struct SystemCalls {
  std::atomic<std::size_t> max_bytes;  // the most that pread and pwrite transfer at a time; 0: as much as they like
  std::atomic<bool> interrupted;       // every other call fails with EINTR
  std::atomic<int> pread_error, pwrite_error, fallocate_error;  // errno; 0: none
  std::atomic<int> fdatasync_error;                             // errno; told once and then forgotten, as Linux does
  std::atomic<bool> hold_fdatasync;                             // it does not return while this is set
  std::atomic<int> transfers, fdatasyncs;                       // how many calls were made
  std::atomic<long> advised_offset, advised_bytes;              // of the last posix_fadvise(POSIX_FADV_WILLNEED)

  /// As if nothing had been asked for, and nothing counted.
  void reset();
};

extern SystemCalls system_calls;

}  // namespace nbdcrypt::test
