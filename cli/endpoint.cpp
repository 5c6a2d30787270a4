// SPDX-License-Identifier: Apache-2.0
#include "cli/endpoint.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>

#include "base/error.h"
#include "cli/new_file.h"
#include "volume/image_lock.h"

namespace nbdcrypt::cli {
namespace {

using base::Byte;

// How finely zeros are looked for: a hole costs an entry in the file's extent map.
constexpr std::size_t kHoleBytes = 64 * 1024;

class RawFile final : public Endpoint {
 public:
  RawFile(const std::string& path, volume::FileDescriptor fd) : store_(path, std::move(fd)) {}
  RawFile(const std::string& path, NewFile created)
      : created_(std::move(created)), store_(path, created_->take_descriptor()) {}

  const std::string& name() const noexcept override { return store_.name(); }
  std::uint64_t size() const noexcept override { return store_.size(); }
  bool is_local() const noexcept override { return true; }
  void prefetch(std::uint64_t offset, std::size_t bytes) override { store_.prefetch(offset, bytes); }
  void begin_read(Transfer& transfer) override { prefetch(transfer.offset, transfer.bytes); }
  void end_read(Transfer& transfer) override { store_.read(transfer.offset, transfer.data()); }
  void begin_write(Transfer& transfer) override {
    for (std::size_t at = 0; at < transfer.bytes; at += kHoleBytes) {
      const auto piece = transfer.data().subspan(at, std::min(kHoleBytes, transfer.bytes - at));
      if (!all_zero(piece) || !make_hole(transfer.offset + at, piece.size())) store_.write(transfer.offset + at, piece);
    }
  }
  void end_write(Transfer&) override {}
  void finish() override {
    store_.flush();
    if (!created_) return;
    sync_folder();
    created_->keep();
  }

 private:
  // A new file is a hole already. Block devices get their zeros written: what they do when they are punched varies.
  bool make_hole(std::uint64_t offset, std::size_t bytes) {
    return created_.has_value() ||
           (store_.writes_are_atomic() && fallocate(store_.fd(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                                                    static_cast<off_t>(offset), static_cast<off_t>(bytes)) == 0);
  }
  // The name of a new file is durable only when its folder is.
  void sync_folder() {
    const std::filesystem::path folder = std::filesystem::path(name()).parent_path();
    const volume::FileDescriptor fd(open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (fd && fsync(fd.get()) != 0 && errno != EINVAL) base::throw_os_error(name(), errno);
  }

  std::optional<NewFile> created_;
  volume::FileStore store_;
};

class Plaintext final : public Endpoint {
 public:
  explicit Plaintext(std::unique_ptr<volume::Volume> volume) : volume_(std::move(volume)) {}
  const std::string& name() const noexcept override { return volume_->store().name(); }
  std::uint64_t size() const noexcept override { return volume_->size(); }
  bool is_local() const noexcept override { return true; }
  void prefetch(std::uint64_t offset, std::size_t bytes) override { volume_->prefetch(offset, bytes); }
  void begin_read(Transfer& transfer) override { prefetch(transfer.offset, transfer.bytes); }
  void end_read(Transfer& transfer) override { volume_->read(transfer.offset, transfer.data()); }
  void begin_write(Transfer& transfer) override { volume_->write(transfer.offset, transfer.data()); }
  void end_write(Transfer&) override {}
  void finish() override {
    if (!volume_->read_only()) volume_->flush();
  }

 private:
  std::unique_ptr<volume::Volume> volume_;
};

}  // namespace

std::unique_ptr<Endpoint> open_raw(const std::string& path, volume::Access access) {
  volume::FileDescriptor fd = volume::open_image(path, access);
  const bool reads = access == volume::Access::read_only;
  volume::lock_image(fd.get(), path, reads ? volume::LockMode::shared_read : volume::LockMode::exclusive_write);
  return std::make_unique<RawFile>(path, std::move(fd));
}

std::unique_ptr<Endpoint> create_raw(const std::string& path, std::uint64_t bytes) {
  return std::make_unique<RawFile>(path, NewFile(path, bytes));
}

std::unique_ptr<Endpoint> open_plaintext(std::unique_ptr<volume::Volume> volume) {
  return std::make_unique<Plaintext>(std::move(volume));
}

// Compared with itself, one byte on: the library's memcmp is as fast as memory.
bool all_zero(std::span<const Byte> bytes) noexcept {
  return bytes.empty() || (bytes[0] == 0 && std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0);
}

}  // namespace nbdcrypt::cli
