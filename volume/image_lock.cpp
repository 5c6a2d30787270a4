// SPDX-License-Identifier: Apache-2.0
//
// QEMU's protocol, in its terms: whoever uses permission p holds a read lock on byte 100 + p; whoever does not let
// others use p holds a read lock on byte 200 + p. Read locks never refuse each other: a conflict is found by asking,
// after one's own are in place, whether a write lock would be refused on 200 + p (for each p used) or 100 + p (for each
// p not shared).
#include "volume/image_lock.h"

#include <fcntl.h>

#include <cerrno>
#include <optional>

#include "base/error.h"
#include "volume/lock_holder.h"

namespace nbdcrypt::volume {
namespace {

enum Permission : unsigned { consistent_read, write, write_unchanged, resize, kPermissions };

constexpr unsigned bit(Permission p) { return 1u << p; }

struct Permissions {
  unsigned used;
  unsigned refused_to_others;
};

// Readers keep writers away as `qemu-img convert` does, writers each other as a disk of a virtual machine does. Nobody
// may resize under us. write_unchanged (rewriting what is there already) is left to others, as QEMU does by default.
constexpr Permissions permissions_of(LockMode mode) {
  const unsigned used = bit(consistent_read) | (mode == LockMode::exclusive_write ? bit(write) : 0);
  return {used, bit(write) | bit(resize)};
}

constexpr off_t kUsedBase = 100, kRefusedBase = 200;

// Calls f(byte) for the bytes of the permissions in `mask`, until it returns false.
template <class F>
bool for_each_byte(off_t base, unsigned mask, F&& f) {
  for (unsigned p = 0; p < kPermissions; ++p) {
    if ((mask & (1u << p)) != 0 && !f(base + static_cast<off_t>(p))) return false;
  }
  return true;
}

struct flock one_byte(short type, off_t byte) {
  struct flock range = {};
  range.l_type = type;
  range.l_whence = SEEK_SET;
  range.l_start = byte;
  range.l_len = 1;
  return range;
}

bool means_no_locks_here(int os_error) { return os_error == EINVAL || os_error == ENOSYS || os_error == EOPNOTSUPP; }

// The lock of somebody else that stands in the way, if any.
std::optional<struct flock> conflict(int fd, const std::string& path, Permissions wanted) {
  struct flock found = {};
  const auto free = [&](off_t byte) {
    found = one_byte(F_WRLCK, byte);
    if (fcntl(fd, F_OFD_GETLK, &found) == 0) return found.l_type == F_UNLCK;
    if (!means_no_locks_here(errno)) base::throw_os_error(path + ": lock", errno);
    return true;
  };
  const bool none =
      for_each_byte(kRefusedBase, wanted.used, free) && for_each_byte(kUsedBase, wanted.refused_to_others, free);
  return none ? std::nullopt : std::optional(found);
}

void release(int fd, Permissions held) noexcept {
  const auto unlock = [&](off_t byte) {
    struct flock range = one_byte(F_UNLCK, byte);
    fcntl(fd, F_OFD_SETLK, &range);
    return true;
  };
  for_each_byte(kUsedBase, held.used, unlock);
  for_each_byte(kRefusedBase, held.refused_to_others, unlock);
}

// 0, or the errno of the first lock that was refused. EAGAIN: somebody holds a write lock there, which QEMU never does.
int take(int fd, Permissions wanted) noexcept {
  const auto lock = [&](off_t byte) {
    struct flock range = one_byte(F_RDLCK, byte);
    return fcntl(fd, F_OFD_SETLK, &range) == 0;
  };
  const bool all =
      for_each_byte(kUsedBase, wanted.used, lock) && for_each_byte(kRefusedBase, wanted.refused_to_others, lock);
  return all ? 0 : errno;
}

[[noreturn]] void throw_busy(int fd, const std::string& path, const struct flock& theirs) {
  throw base::Error(base::Kind::busy, path + ": in use by " + lock_holder(fd, theirs), EBUSY);
}

[[noreturn]] void throw_not_taken(int fd, const std::string& path, int refused) {
  if (refused != EAGAIN && refused != EACCES) base::throw_os_error(path + ": lock", refused);
  struct flock theirs = one_byte(F_RDLCK, kUsedBase);
  theirs.l_len = kRefusedBase + kPermissions - kUsedBase;
  fcntl(fd, F_OFD_GETLK, &theirs);
  throw_busy(fd, path, theirs);
}

}  // namespace

void lock_image(int fd, const std::string& path, LockMode mode) {
  const Permissions wanted = permissions_of(mode);
  const int refused = take(fd, wanted);
  if (means_no_locks_here(refused)) return;
  std::optional<struct flock> theirs;
  if (refused == 0) theirs = conflict(fd, path, wanted);
  if (refused == 0 && !theirs) return;
  release(fd, wanted);  // before the search for the holder, which must not find us
  if (theirs) throw_busy(fd, path, *theirs);
  throw_not_taken(fd, path, refused);
}

void check_image_unlocked(int fd, const std::string& path, LockMode mode) {
  if (const auto theirs = conflict(fd, path, permissions_of(mode))) throw_busy(fd, path, *theirs);
}

}  // namespace nbdcrypt::volume
