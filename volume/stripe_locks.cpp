// SPDX-License-Identifier: Apache-2.0
#include "volume/stripe_locks.h"

#include <algorithm>
#include <cerrno>

namespace nbdcrypt::volume {

FairSharedMutex::FairSharedMutex() noexcept {
  pthread_rwlockattr_t kind;
  pthread_rwlockattr_init(&kind);
  pthread_rwlockattr_setkind_np(&kind, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
  pthread_rwlock_init(&lock_, &kind);
  pthread_rwlockattr_destroy(&kind);
}

void FairSharedMutex::lock_shared() noexcept {
  // EAGAIN: more shared holders than it can count, pthread_rwlock_rdlock(3p).
  while (pthread_rwlock_rdlock(&lock_) == EAGAIN) {}
}

// The stripes of a range that wraps around are [0, end - kStripes) and [first, kStripes): the low ones come first.
template <class F>
void StripeLocks::Hold::for_each(F&& f) {
  const std::size_t end = first_ + count_;
  for (std::size_t i = 0; i + kStripes < end; ++i) f(locks_.stripes_[i]);
  for (std::size_t i = first_; i < std::min(end, kStripes); ++i) f(locks_.stripes_[i]);
}

StripeLocks::Hold::Hold(StripeLocks& locks, std::uint64_t offset, std::uint64_t bytes, Mode mode) noexcept
    : locks_(locks) {
  const std::uint64_t first = offset / kStripeBytes, last = (offset + bytes - 1) / kStripeBytes;
  first_ = static_cast<std::size_t>(first % kStripes);
  count_ = static_cast<std::size_t>(std::min<std::uint64_t>(last - first + 1, kStripes));
  if (count_ == kStripes) first_ = 0;
  for_each([mode](FairSharedMutex& stripe) { mode == Mode::exclusive ? stripe.lock() : stripe.lock_shared(); });
}

StripeLocks::Hold::~Hold() {
  for_each([](FairSharedMutex& stripe) { stripe.unlock(); });
}

}  // namespace nbdcrypt::volume
