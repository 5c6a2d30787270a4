// SPDX-License-Identifier: Apache-2.0
#include "volume/scratch.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <string>
#include <thread>
#include <utility>

#include "base/error.h"

namespace nbdcrypt::volume {
namespace {

constexpr std::size_t kPageBytes = 4096;

base::Byte* new_buffer() noexcept {
  return static_cast<base::Byte*>(std::aligned_alloc(kPageBytes, ScratchPool::kBufferBytes));
}

}  // namespace

void ScratchPool::Free::operator()(base::Byte* buffer) const noexcept { std::free(buffer); }

std::size_t ScratchPool::default_buffers() noexcept {
  return std::max<std::size_t>(4, 2 * std::thread::hardware_concurrency());
}

// Room for all of them now, so that put_back() never allocates.
ScratchPool::ScratchPool(std::size_t buffers) : not_yet_made_(buffers) { idle_.reserve(buffers); }

ScratchPool::Buffer ScratchPool::take() {
  std::unique_lock hold(mutex_);
  returned_.wait(hold, [this] { return !idle_.empty() || not_yet_made_ > 0; });
  if (idle_.empty()) {
    Buffer made(new_buffer());
    if (!made) base::throw_os_error("scratch buffer of " + std::to_string(kBufferBytes) + " bytes", ENOMEM);
    --not_yet_made_;
    return made;
  }
  Buffer buffer = std::move(idle_.back());
  idle_.pop_back();
  return buffer;
}

void ScratchPool::put_back(Buffer buffer) noexcept {
  {
    std::lock_guard hold(mutex_);
    idle_.push_back(std::move(buffer));
  }
  returned_.notify_one();
}

}  // namespace nbdcrypt::volume
