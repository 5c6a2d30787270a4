// SPDX-License-Identifier: Apache-2.0
//
// Preloaded into nbdkit in builds with ThreadSanitizer: a data race on purpose in each read of the image, to prove that
// one in the server would be reported.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/types.h>
#include <unistd.h>

#define PUBLIC __attribute__((visibility("default")))

static unsigned long planted_reads;  // no lock and not atomic: that is the point

PUBLIC ssize_t pread(int fd, void* buffer, size_t bytes, off_t offset) {
  static ssize_t (*next)(int, void*, size_t, off_t);
  if (!__atomic_load_n(&next, __ATOMIC_ACQUIRE)) {
    void* const found = dlsym(RTLD_NEXT, "pread");
    __atomic_store_n((void**)&next, found, __ATOMIC_RELEASE);
  }
  ++planted_reads;
  return next(fd, buffer, bytes, offset);
}

PUBLIC ssize_t pread64(int fd, void* buffer, size_t bytes, off_t offset) { return pread(fd, buffer, bytes, offset); }
