// SPDX-License-Identifier: Apache-2.0
#include "base/secret.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>

#include "base/error.h"

namespace nbdcrypt::base {
namespace {

std::atomic<bool> all_locked{true};

// All living mappings, so that a forked child can lock them again. Never destroyed: secrets of static storage
// duration may outlive any static object here.
struct Mappings {
  std::mutex mutex;
  std::map<void*, std::size_t> bytes;
};

Mappings& mappings() {
  static Mappings* const all = new Mappings;
  return *all;
}

std::size_t whole_pages(std::size_t bytes) {
  const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return (std::max<std::size_t>(bytes, 1) + page - 1) / page * page;
}

void lock(void* at, std::size_t bytes) noexcept {
  if (mlock(at, bytes) != 0) all_locked = false;
}

Byte* map_secret(std::size_t bytes) {
  void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) throw_os_error("memory for a secret of " + std::to_string(bytes) + " bytes", errno);
  madvise(at, bytes, MADV_DONTDUMP);
  lock(at, bytes);
  std::lock_guard hold(mappings().mutex);
  mappings().bytes.emplace(at, bytes);
  return static_cast<Byte*>(at);
}

void unmap_secret(Byte* at, std::size_t bytes) noexcept {
  {
    std::lock_guard hold(mappings().mutex);
    mappings().bytes.erase(at);
  }
  wipe({at, bytes});
  munmap(at, bytes);
}

}  // namespace

SecretBuffer::SecretBuffer(std::size_t size_bytes)
    : data_(map_secret(whole_pages(size_bytes))), size_bytes_(size_bytes), mapped_bytes_(whole_pages(size_bytes)) {}

SecretBuffer::SecretBuffer(std::span<const Byte> copy_of) : SecretBuffer(copy_of.size()) {
  std::copy(copy_of.begin(), copy_of.end(), data_);
}

SecretBuffer::~SecretBuffer() {
  if (data_) unmap_secret(data_, mapped_bytes_);
}

void SecretBuffer::swap(SecretBuffer& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_bytes_, other.size_bytes_);
  std::swap(mapped_bytes_, other.mapped_bytes_);
}

void SecretBuffer::shrink(std::size_t size_bytes) noexcept {
  wipe({data_ + size_bytes, size_bytes_ - size_bytes});
  size_bytes_ = size_bytes;
}

void SecretBuffer::grow(std::size_t size_bytes) {
  if (size_bytes > mapped_bytes_) {
    SecretBuffer larger(size_bytes);
    std::copy_n(data_, size_bytes_, larger.data_);
    swap(larger);
  }
  size_bytes_ = size_bytes;
}

void wipe(std::span<Byte> bytes) noexcept {
  if (!bytes.empty()) explicit_bzero(bytes.data(), bytes.size());
}

[[gnu::noinline]] void wipe_stack(std::size_t bytes) noexcept {
  Byte below[kMaxStackBytes];
  wipe(std::span(below).last(bytes));  // the stack grows downwards
}

void lock_secrets_again() noexcept {
  std::lock_guard hold(mappings().mutex);
  all_locked = true;
  for (const auto& [at, bytes] : mappings().bytes) lock(at, bytes);
}

bool secrets_locked() noexcept { return all_locked; }

void forbid_core_dumps() noexcept {
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
}

}  // namespace nbdcrypt::base
