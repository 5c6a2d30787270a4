// SPDX-License-Identifier: Apache-2.0
//
// libcryptsetup behind a small door: a context that owns the library's handle and collects what it says. Nothing that
// it prints reaches the terminal; its errors become part of ours, in one line.
#pragma once

#include <libcryptsetup.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "volume/header_copy.h"

namespace nbdcrypt::volume {

/// What the library said since the last clear().
class LibraryLog {
 public:
  void add(int level, std::string_view text);
  void clear() { *this = {}; }

  /// Everything at the normal level: what a dump prints.
  const std::string& text() const { return text_; }
  /// The normal level by lines, without "WARNING: ": what people should know after a format.
  std::vector<std::string> notes() const;
  /// The errors in one line of our style; for a header that does not load, what its validation found; empty: nothing.
  std::string reason() const;

 private:
  std::string text_, errors_;
  std::string last_debug_, damage_;
};

struct DeviceCloser {
  void operator()(crypt_device* device) const noexcept { crypt_free(device); }
};

/// A handle on `path` (empty: on nothing, for plain), with external tokens off: a token is data here, never code to
/// run.
class LibraryContext {
 public:
  /// `data`: a path that stands for the data device, for detached headers.
  explicit LibraryContext(const std::string& path, const std::string& data = {});
  LibraryContext(const LibraryContext&) = delete;
  LibraryContext& operator=(const LibraryContext&) = delete;

  crypt_device* get() const { return device_.get(); }
  LibraryLog& log() { return log_; }

  /// Throws `message: what the library said`, or the text of the errno `result` where it said nothing;
  /// Error{memory} for -ENOMEM, else of `kind`.
  [[noreturn]] void fail(base::Kind kind, const std::string& message, int result) const;

 private:
  LibraryLog log_;
  std::unique_ptr<crypt_device, DeviceCloser> device_;
};

/// Debug messages are on while it lives: validation explains itself in those alone.
struct DebugMessages {
  DebugMessages() { crypt_set_debug_level(CRYPT_DEBUG_ALL); }
  ~DebugMessages() { crypt_set_debug_level(CRYPT_DEBUG_NONE); }
  DebugMessages(const DebugMessages&) = delete;
  DebugMessages& operator=(const DebugMessages&) = delete;
};

}  // namespace nbdcrypt::volume
