// SPDX-License-Identifier: Apache-2.0
//
// Buffers for ciphertext on its way to the store. Bounded by the number of cores, not by the number of clients.
// They hold nothing but ciphertext, so they are neither locked nor wiped.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "base/bytes.h"

namespace nbdcrypt::volume {

class ScratchPool {
 public:
  static constexpr std::size_t kBufferBytes = 128 * 1024;  // fits L2 together with the plaintext

  /// At most `buffers` > 0 buffers, made when they are first needed. Default: two a core (one is being filled while the
  /// other is being written), at least four.
  explicit ScratchPool(std::size_t buffers = default_buffers());

  static std::size_t default_buffers() noexcept;

 private:
  struct Free {
    void operator()(base::Byte* buffer) const noexcept;
  };
  using Buffer = std::unique_ptr<base::Byte, Free>;

 public:
  /// A buffer of kBufferBytes, page-aligned, borrowed until destroyed; waits when all are lent. Throws Error{memory}.
  /// A thread has one at a time, and does not wait for locks that another might hold while it waits for a loan.
  class Loan {
   public:
    explicit Loan(ScratchPool& pool) : pool_(pool), buffer_(pool.take()) {}
    Loan(const Loan&) = delete;
    Loan& operator=(const Loan&) = delete;
    ~Loan() { pool_.put_back(std::move(buffer_)); }
    base::Byte* data() const noexcept { return buffer_.get(); }

   private:
    ScratchPool& pool_;
    Buffer buffer_;
  };

 private:
  Buffer take();
  void put_back(Buffer buffer) noexcept;

  std::mutex mutex_;
  std::condition_variable returned_;
  std::vector<Buffer> idle_;
  std::size_t not_yet_made_;
};

}  // namespace nbdcrypt::volume
