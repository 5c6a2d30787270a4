// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

namespace nbdcrypt::test {

/// Memory between two pages that nobody may touch: the first byte behind the buffer (or, with Edge::front, the first
/// byte before it) faults. `slack` moves the buffer that many bytes away from the edge, for any alignment.
class GuardedBuffer {
 public:
  enum class Edge { front, back };

  explicit GuardedBuffer(std::size_t bytes, Edge edge = Edge::back, std::size_t slack = 0)
      : page_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))),
        middle_bytes_((bytes + slack + page_ - 1) / page_ * page_),
        size_(bytes) {
    void* at = mmap(nullptr, middle_bytes_ + 2 * page_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) std::abort();
    map_ = static_cast<std::uint8_t*>(at);
    if (middle_bytes_ > 0 && mprotect(map_ + page_, middle_bytes_, PROT_READ | PROT_WRITE) != 0) std::abort();
    data_ = map_ + page_ + (edge == Edge::front ? slack : middle_bytes_ - bytes - slack);
  }
  GuardedBuffer(const GuardedBuffer&) = delete;
  GuardedBuffer& operator=(const GuardedBuffer&) = delete;
  ~GuardedBuffer() { munmap(map_, middle_bytes_ + 2 * page_); }

  std::uint8_t* data() noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }
  std::span<std::uint8_t> bytes() noexcept { return {data_, size_}; }

 private:
  std::size_t page_, middle_bytes_, size_;
  std::uint8_t* map_;
  std::uint8_t* data_;
};

}  // namespace nbdcrypt::test
