// SPDX-License-Identifier: Apache-2.0
//
// Memory for keys and passphrases. Every secret lives in pages of its own that are locked (never swapped), left out
// of core dumps, and wiped before they go back to the system. Locks do not survive fork(): a process that serves
// after a fork calls lock_secrets_again() first (nbdkit forks between .get_ready and .after_fork).
// Locking is best effort, as RLIMIT_MEMLOCK may be small; secrets_locked() says whether all of it worked.
#pragma once

#include <cstddef>
#include <new>
#include <span>
#include <utility>

#include "base/bytes.h"

namespace nbdcrypt::base {

/// A buffer of secret bytes: move-only, zero-filled at birth, wiped at death.
class SecretBuffer {
 public:
  SecretBuffer() noexcept = default;
  explicit SecretBuffer(std::size_t size_bytes);  ///< throws Error{memory}
  explicit SecretBuffer(std::span<const Byte> copy_of);
  SecretBuffer(SecretBuffer&& other) noexcept { swap(other); }
  SecretBuffer& operator=(SecretBuffer&& other) noexcept {
    SecretBuffer(std::move(other)).swap(*this);
    return *this;
  }
  ~SecretBuffer();

  Byte* data() noexcept { return data_; }
  const Byte* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_bytes_; }
  bool empty() const noexcept { return size_bytes_ == 0; }
  std::span<Byte> bytes() noexcept { return {data_, size_bytes_}; }
  std::span<const Byte> bytes() const noexcept { return {data_, size_bytes_}; }
  const char* chars() const noexcept { return reinterpret_cast<const char*>(data_); }

  /// Forgets (and wipes) what lies behind the first `size_bytes` bytes. size_bytes <= size().
  void shrink(std::size_t size_bytes) noexcept;
  /// Makes room for `size_bytes` >= size() bytes, keeping what is there; new bytes are zero. Throws Error{memory}.
  void grow(std::size_t size_bytes);

 private:
  void swap(SecretBuffer& other) noexcept;

  Byte* data_ = nullptr;
  std::size_t size_bytes_ = 0;
  std::size_t mapped_bytes_ = 0;
};

/// One object of type T, constructed in a SecretBuffer.
template <class T>
class Secret {
 public:
  template <class... Args>
  explicit Secret(std::in_place_t, Args&&... args)
      : pages_(sizeof(T)), object_(new (pages_.data()) T(std::forward<Args>(args)...)) {}
  Secret(Secret&& other) noexcept : pages_(std::move(other.pages_)), object_(std::exchange(other.object_, nullptr)) {}
  Secret& operator=(Secret&&) = delete;
  ~Secret() {
    if (object_) object_->~T();
  }

  const T& operator*() const noexcept { return *object_; }
  const T* operator->() const noexcept { return object_; }

 private:
  SecretBuffer pages_;
  T* object_;
};

/// Overwrites `bytes` in a way that the compiler keeps.
void wipe(std::span<Byte> bytes) noexcept;

/// Overwrites `bytes` (at most kMaxStackBytes) of the stack below the caller's frame: what functions that have returned
/// left there. Compilers spill round keys to the stack, which is not locked, when registers run out.
inline constexpr std::size_t kMaxStackBytes = 32768;
void wipe_stack(std::size_t bytes) noexcept;

/// Locks the pages of all living secrets once more; for a child after fork().
void lock_secrets_again() noexcept;

/// False when a page of a secret could not be locked since the process started (or since the last
/// lock_secrets_again()).
bool secrets_locked() noexcept;

/// No core dumps from this process or its children (RLIMIT_CORE 0). Called before the first secret is read.
void forbid_core_dumps() noexcept;

}  // namespace nbdcrypt::base
