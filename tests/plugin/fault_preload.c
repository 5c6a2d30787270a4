// SPDX-License-Identifier: Apache-2.0
//
// Preloaded into nbdkit: logs the system calls that touch one file, and makes a chosen one fail. It stands below the
// whole server, so that no product code knows of it. Environment:
//   NBDCRYPT_FAULT_IMAGE  the file
//   NBDCRYPT_FAULT_LOG    gets a line "CALL OFFSET BYTES" for each call
//   NBDCRYPT_FAULT_PLAN   while this file exists and holds "CALL ERRNO SKIP", call number SKIP (from 0) of that name
//   fails with
//                         ERRNO, and the plan is removed; ERRNO 0: it does half of its bytes and says so, a short read
//                         or write
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static int is_image(int fd) {
  const char* path = getenv("NBDCRYPT_FAULT_IMAGE");
  struct stat wanted, there;
  return path && fstat(fd, &there) == 0 && stat(path, &wanted) == 0 && there.st_ino == wanted.st_ino &&
         there.st_dev == wanted.st_dev;
}

static void log_call(const char* call, long long offset, unsigned long long bytes) {
  const char* path = getenv("NBDCRYPT_FAULT_LOG");
  const int fd = path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;
  if (fd < 0) return;
  dprintf(fd, "%s %lld %llu\n", call, offset, bytes);
  close(fd);
}

// True when this call is the planned one; sets `error` then.
static int planned(const char* call, int* error) {
  const char* path = getenv("NBDCRYPT_FAULT_PLAN");
  FILE* plan = path ? fopen(path, "r+e") : NULL;
  if (!plan) return 0;
  char name[32] = "";
  int planned_error = 0, skip = 0;
  int hit = fscanf(plan, "%31s %d %d", name, &planned_error, &skip) == 3 && strcmp(name, call) == 0;
  if (hit && skip > 0) {
    rewind(plan);
    fprintf(plan, "%s %d %d\n", name, planned_error, skip - 1);
    hit = 0;
  } else if (hit) {
    *error = planned_error;
    unlink(path);
  }
  fclose(plan);
  return hit;
}

// Logs the call and consults the plan. `bytes` is halved for a short call. Returns 0, or the errno to fail with.
static int before(const char* call, int fd, long long offset, size_t* bytes) {
  if (!is_image(fd)) return 0;
  pthread_mutex_lock(&mutex);
  log_call(call, offset, *bytes);
  int error = 0;
  if (planned(call, &error) && error == 0) *bytes /= 2;
  pthread_mutex_unlock(&mutex);
  return error;
}

typedef ssize_t (*pread_function)(int, void*, size_t, off_t);
typedef ssize_t (*pwrite_function)(int, const void*, size_t, off_t);
typedef int (*sync_function)(int);
typedef int (*advise_function)(int, off_t, off_t, int);
typedef int (*allocate_function)(int, int, off_t, off_t);

ssize_t pread(int fd, void* buffer, size_t bytes, off_t offset) {
  const int error = before("pread", fd, offset, &bytes);
  if (error) return errno = error, -1;
  return ((pread_function)dlsym(RTLD_NEXT, "pread"))(fd, buffer, bytes, offset);
}

ssize_t pwrite(int fd, const void* buffer, size_t bytes, off_t offset) {
  const int error = before("pwrite", fd, offset, &bytes);
  if (error) return errno = error, -1;
  return ((pwrite_function)dlsym(RTLD_NEXT, "pwrite"))(fd, buffer, bytes, offset);
}

int fdatasync(int fd) {
  size_t none = 0;
  const int error = before("fdatasync", fd, 0, &none);
  if (error) return errno = error, -1;
  return ((sync_function)dlsym(RTLD_NEXT, "fdatasync"))(fd);
}

int posix_fadvise(int fd, off_t offset, off_t bytes, int advice) {
  size_t range = (size_t)bytes;
  before("fadvise", fd, offset, &range);
  return ((advise_function)dlsym(RTLD_NEXT, "posix_fadvise"))(fd, offset, bytes, advice);
}

int fallocate(int fd, int mode, off_t offset, off_t bytes) {
  size_t range = (size_t)bytes;
  const int error = before("fallocate", fd, offset, &range);
  if (error) return errno = error, -1;
  return ((allocate_function)dlsym(RTLD_NEXT, "fallocate"))(fd, mode, offset, bytes);
}

// Nothing is said to be in the page cache, so that every read comes by here.
int mincore(void* begin, size_t bytes, unsigned char* resident) {
  (void)begin, (void)bytes, (void)resident;
  return errno = EAGAIN, -1;
}

// Names of the same functions in programs that were built for large files, or with checks.
ssize_t pread64(int fd, void* buffer, size_t bytes, off_t offset) { return pread(fd, buffer, bytes, offset); }
ssize_t pwrite64(int fd, const void* buffer, size_t bytes, off_t offset) { return pwrite(fd, buffer, bytes, offset); }
int posix_fadvise64(int fd, off_t offset, off_t bytes, int advice) { return posix_fadvise(fd, offset, bytes, advice); }
int fallocate64(int fd, int mode, off_t offset, off_t bytes) { return fallocate(fd, mode, offset, bytes); }
