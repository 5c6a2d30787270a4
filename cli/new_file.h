// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "volume/file_store.h"

namespace nbdcrypt::cli {

/// A sparse file that did not exist before, readable by its owner alone, and gone again unless keep() is called.
class NewFile {
 public:
  /// Throws Error{busy} with EEXIST when there is something of that name, else as base::throw_open_error().
  NewFile(std::string path, std::uint64_t bytes);
  NewFile(NewFile&& other) noexcept;
  ~NewFile();

  /// The file, open for reading and writing; once.
  volume::FileDescriptor take_descriptor() noexcept { return std::move(fd_); }
  void keep() noexcept { path_.clear(); }

 private:
  std::string path_;  // empty: nothing to take away
  volume::FileDescriptor fd_;
};

}  // namespace nbdcrypt::cli
