// SPDX-License-Identifier: Apache-2.0
//
// Reader-writer locks over byte ranges of a volume, hashed onto a fixed number of stripes.
// Exclusive for read-modify-write of a partly written sector; shared for everything else that touches sectors.
#pragma once

#include <pthread.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace nbdcrypt::volume {

/// As std::shared_mutex, but a waiting exclusive holder goes before later shared ones. glibc's default, which
/// std::shared_mutex cannot change, lets a steady stream of readers keep a writer out for ever.
class alignas(64) FairSharedMutex {
 public:
  FairSharedMutex() noexcept;
  FairSharedMutex(const FairSharedMutex&) = delete;
  FairSharedMutex& operator=(const FairSharedMutex&) = delete;
  ~FairSharedMutex() { pthread_rwlock_destroy(&lock_); }

  /// The same thread must not hold it already, not even shared.
  void lock() noexcept { pthread_rwlock_wrlock(&lock_); }
  void lock_shared() noexcept;
  void unlock() noexcept { pthread_rwlock_unlock(&lock_); }

 private:
  pthread_rwlock_t lock_;
};

class StripeLocks {
 public:
  static constexpr std::uint64_t kStripeBytes = 64 * 1024;
  static constexpr std::size_t kStripes = 256;

  enum class Mode { shared, exclusive };

  /// Holds the stripes of [offset, offset + bytes) until it is destroyed. Stripes are taken in ascending order of
  /// their index, each once, so that two holders never wait for each other. bytes > 0. A thread has one Hold at a time.
  class Hold {
   public:
    Hold(StripeLocks& locks, std::uint64_t offset, std::uint64_t bytes, Mode mode) noexcept;
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;
    ~Hold();

   private:
    template <class F>
    void for_each(F&& f);

    StripeLocks& locks_;
    std::size_t first_, count_;  // stripes, modulo kStripes
  };

 private:
  std::array<FairSharedMutex, kStripes> stripes_;
};

}  // namespace nbdcrypt::volume
