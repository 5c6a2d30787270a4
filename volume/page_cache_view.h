// SPDX-License-Identifier: Apache-2.0
//
// The page cache of an image as memory: ciphertext that is there already is decrypted from where it lies, without a
// copy.
//
// Memory of a file may vanish under its reader: the file was cut short, or the disk failed. The kernel then sends
// SIGBUS. A handler puts a page of zeros in its place and gives the view up for good, so that whoever saw them learns
// it from holds() and reads the range again by system call, which has an error to tell.
#pragma once

#include <signal.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/bytes.h"

namespace nbdcrypt::volume {

class PageCacheView {
 public:
  /// Larger images are not viewed: the kernel's page tables would take more than 1/512 of this.
  static constexpr std::uint64_t kMaxBytes = std::uint64_t{64} << 30;
  /// Smaller ranges are read by system call: a look takes two of its own, which have to pay.
  static constexpr std::size_t kMinLook = 32 * 1024;

  /// Of the first `bytes` of an open regular file or block device. Null where that cannot be had; nothing is lost then.
  static std::unique_ptr<PageCacheView> of(int fd, std::uint64_t bytes);
  PageCacheView(const PageCacheView&) = delete;
  PageCacheView& operator=(const PageCacheView&) = delete;
  ~PageCacheView();

  /// The range, if all of it is in memory now (else null: a read by system call reads ahead).
  const base::Byte* look(std::uint64_t offset, std::size_t bytes) const noexcept;
  /// True if what was seen in [offset, offset + bytes) since look() was the file's content.
  bool holds(std::uint64_t offset, std::size_t bytes) const noexcept;

 private:
  PageCacheView(int fd, std::uint64_t bytes, bool may_shrink) noexcept
      : fd_(fd), bytes_(bytes), may_shrink_(may_shrink) {}
  static void on_fault(int signal, siginfo_t* info, void* context) noexcept;
  bool mend(base::Byte* at) noexcept;

  int fd_;  // borrowed
  std::uint64_t bytes_;
  base::Byte* begin_ = nullptr;
  bool may_shrink_;
  std::atomic<bool> given_up_{false};
};

}  // namespace nbdcrypt::volume
