// SPDX-License-Identifier: Apache-2.0
//
// An NBD export as one side of a copy. Requests are sent when they begin; waiting for any of them moves all of them.
#include <fmt/format.h>
#include <libnbd.h>

#include <cerrno>
#include <regex>

#include "base/error.h"
#include "cli/endpoint.h"

namespace nbdcrypt::cli {
namespace {

using base::Error;
using base::Kind;

class NbdExport final : public Endpoint {
 public:
  NbdExport(std::string uri, volume::Access access) : uri_(std::move(uri)), nbd_(nbd_create()) {
    if (!nbd_) fail(Kind::memory);
    if (nbd_connect_uri(nbd_.get(), uri_.c_str()) != 0) fail(Kind::device);
    size_ = static_cast<std::uint64_t>(checked(nbd_get_size(nbd_.get())));
    zeroes_ = nbd_can_zero(nbd_.get()) == 1;
    if (access == volume::Access::read_write && nbd_is_read_only(nbd_.get()) == 1) {
      throw Error(Kind::usage, uri_ + ": the export is read-only", EROFS);
    }
  }

  const std::string& name() const noexcept override { return uri_; }
  std::uint64_t size() const noexcept override { return size_; }
  void begin_read(Transfer& t) override {
    t.ticket = checked(nbd_aio_pread(nbd_.get(), t.buffer.data(), t.bytes, t.offset, NBD_NULL_COMPLETION, 0));
  }
  void end_read(Transfer& transfer) override { wait_for(transfer.ticket); }
  void begin_write(Transfer& t) override {
    const bool zero = zeroes_ && all_zero(t.data());
    t.ticket = checked(zero ? nbd_aio_zero(nbd_.get(), t.bytes, t.offset, NBD_NULL_COMPLETION, 0)
                            : nbd_aio_pwrite(nbd_.get(), t.buffer.data(), t.bytes, t.offset, NBD_NULL_COMPLETION, 0));
  }
  void end_write(Transfer& transfer) override { wait_for(transfer.ticket); }
  void finish() override {
    if (nbd_can_flush(nbd_.get()) == 1) checked(nbd_flush(nbd_.get(), 0));
    checked(nbd_shutdown(nbd_.get(), 0));
  }

 private:
  struct Closer {
    void operator()(nbd_handle* nbd) const noexcept { nbd_close(nbd); }
  };

  [[noreturn]] void fail(Kind kind) const {
    throw Error(kind, fmt::format("{}: {}", uri_, nbd_get_error()), nbd_get_errno());
  }
  std::int64_t checked(std::int64_t result) const {
    if (result == -1) fail(Kind::io);
    return result;
  }
  void wait_for(std::int64_t ticket) {
    while (checked(nbd_aio_command_completed(nbd_.get(), static_cast<std::uint64_t>(ticket))) == 0) {
      if (nbd_poll(nbd_.get(), -1) == -1 && nbd_get_errno() != EINTR) fail(Kind::io);
    }
  }

  std::string uri_;
  std::unique_ptr<nbd_handle, Closer> nbd_;
  std::uint64_t size_ = 0;
  bool zeroes_ = false;
};

}  // namespace

bool is_nbd_uri(const std::string& name) {
  static const std::regex kUri("nbds?(\\+(unix|vsock|ssh))?:.*");
  return std::regex_match(name, kUri);
}

std::unique_ptr<Endpoint> open_nbd(const std::string& uri, volume::Access access) {
  return std::make_unique<NbdExport>(uri, access);
}

}  // namespace nbdcrypt::cli
