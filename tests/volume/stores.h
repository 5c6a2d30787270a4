// SPDX-License-Identifier: Apache-2.0
//
// Stores for tests: one in memory, and wrappers around it that fail, tear or interrupt on purpose.
#pragma once

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.h"
#include "volume/store.h"

namespace nbdcrypt::test {

using volume::Byte;

struct Range {
  std::uint64_t offset, bytes;
  friend bool operator==(const Range&, const Range&) = default;
};

/// Bytes in memory; each read and each write is atomic. Counts and remembers what else it was asked to do.
class MemoryStore : public volume::Store {
 public:
  explicit MemoryStore(std::size_t bytes, Byte fill = 0) : content(bytes, fill) {}

  const std::string& name() const noexcept override { return name_; }
  std::uint64_t size() const noexcept override { return content.size(); }
  void read(std::uint64_t offset, std::span<Byte> out) override {
    std::lock_guard hold(mutex_);
    std::copy_n(at(offset, out.size()), out.size(), out.begin());
  }
  void write(std::uint64_t offset, std::span<const Byte> in) override {
    std::lock_guard hold(mutex_);
    std::copy(in.begin(), in.end(), at(offset, in.size()));
  }
  void flush() override { ++flushes; }
  void trim(std::uint64_t offset, std::uint64_t bytes) override {
    std::lock_guard hold(mutex_);
    std::fill_n(at(offset, bytes), bytes, Byte{0});
    trims.push_back({offset, bytes});
  }
  void prefetch(std::uint64_t offset, std::uint64_t bytes) override { prefetches.push_back({offset, bytes}); }
  bool writes_are_atomic() const noexcept override { return true; }

  std::vector<Byte> content;
  std::atomic<int> flushes{0};
  std::vector<Range> trims, prefetches;

 private:
  std::vector<Byte>::iterator at(std::uint64_t offset, std::uint64_t bytes) {
    if (offset > content.size() || bytes > content.size() - offset) {
      throw std::logic_error("memory store: " + std::to_string(bytes) + " bytes at " + std::to_string(offset));
    }
    return content.begin() + static_cast<std::ptrdiff_t>(offset);
  }

  std::string name_ = "memory";
  std::mutex mutex_;
};

/// Passes everything on to a store that it does not own, which therefore outlives the volume and can be looked into.
class StoreWrapper : public volume::Store {
 public:
  explicit StoreWrapper(volume::Store& inner) : inner_(inner) {}
  const std::string& name() const noexcept override { return inner_.name(); }
  std::uint64_t size() const noexcept override { return inner_.size(); }
  void read(std::uint64_t offset, std::span<Byte> out) override { inner_.read(offset, out); }
  void write(std::uint64_t offset, std::span<const Byte> in) override { inner_.write(offset, in); }
  void flush() override { inner_.flush(); }
  void trim(std::uint64_t offset, std::uint64_t bytes) override { inner_.trim(offset, bytes); }
  void prefetch(std::uint64_t offset, std::uint64_t bytes) override { inner_.prefetch(offset, bytes); }
  bool writes_are_atomic() const noexcept override { return inner_.writes_are_atomic(); }

 protected:
  volume::Store& inner_;
};

/// Fails its n-th call (reads, writes, flushes and trims count alike) with an errno, before it has done anything.
class FaultStore final : public StoreWrapper {
 public:
  using StoreWrapper::StoreWrapper;
  void fail_call(int number, int os_error) {
    calls_left_ = number;
    os_error_ = os_error;
  }
  /// True once the call that was to fail has failed.
  bool failed() const { return calls_left_ == 0; }

  void read(std::uint64_t offset, std::span<Byte> out) override { count("read"), inner_.read(offset, out); }
  void write(std::uint64_t offset, std::span<const Byte> in) override { count("write"), inner_.write(offset, in); }
  void flush() override { count("flush"), inner_.flush(); }
  void trim(std::uint64_t offset, std::uint64_t bytes) override { count("trim"), inner_.trim(offset, bytes); }

 private:
  void count(const char* what) {
    if (calls_left_ > 0 && --calls_left_ == 0) base::throw_os_error(name() + ": " + what, os_error_);
  }
  int calls_left_ = -1;  // negative: never fails
  int os_error_ = 0;
};

/// Moves bytes in two halves and lets other threads run between them, so that a race that can happen does happen. Each
/// half alone is atomic. Its overlapping writes mix, and it says so.
class TornStore final : public StoreWrapper {
 public:
  using StoreWrapper::StoreWrapper;
  void read(std::uint64_t offset, std::span<Byte> out) override {
    const std::size_t half = out.size() / 2;
    inner_.read(offset, out.first(half));
    pause();
    inner_.read(offset + half, out.subspan(half));
  }
  void write(std::uint64_t offset, std::span<const Byte> in) override {
    const std::size_t half = in.size() / 2;
    inner_.write(offset, in.first(half));
    pause();
    inner_.write(offset + half, in.subspan(half));
  }
  bool writes_are_atomic() const noexcept override { return false; }

 private:
  static void pause() { std::this_thread::sleep_for(std::chrono::microseconds(20)); }
};

/// Calls `after_read` and `before_write`, when set, where their names say.
class HookStore final : public StoreWrapper {
 public:
  HookStore(volume::Store& inner, bool atomic) : StoreWrapper(inner), atomic_(atomic) {}
  void read(std::uint64_t offset, std::span<Byte> out) override {
    inner_.read(offset, out);
    if (after_read) after_read();
  }
  void write(std::uint64_t offset, std::span<const Byte> in) override {
    if (before_write) before_write();
    inner_.write(offset, in);
  }
  bool writes_are_atomic() const noexcept override { return atomic_; }

  std::function<void()> after_read, before_write;

 private:
  bool atomic_;
};

}  // namespace nbdcrypt::test
