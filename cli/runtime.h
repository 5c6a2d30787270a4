// SPDX-License-Identifier: Apache-2.0
//
// The runtime folder: one folder for each open volume (entry.h), in memory and gone after a reboot. Never in /tmp.
// Every folder and file in it is ours alone (0700, 0600); owner, mode and type are checked through the opened
// descriptor, and names are resolved relative to it, so that nobody can put something else in its place.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "cli/command.h"
#include "volume/file_store.h"

namespace nbdcrypt::cli {

/// Adds --runtime-dir.
void add_runtime_options(po::options_description& options);

/// Throws Error{usage} for a NAME that is empty, longer than 127 bytes, or has '/', a leading dot, a comma, a backslash
/// or control characters in it (mount options and mount tables spell the last three in ways of their own).
void check_name(const std::string& name);

/// Throws Error{usage} unless `fd` is of the `type` (S_IFDIR, S_IFREG), belongs to us, and is closed to everybody else.
void check_private(int fd, mode_t type, const std::string& path);

class RuntimeDir {
 public:
  /// --runtime-dir, else $NBDCRYPT_RUNTIME_DIR, else $XDG_RUNTIME_DIR/nbdcrypt (when that folder is ours), else as root
  /// /run/nbdcrypt. Throws Error{usage} with a hint when there is none of these.
  static RuntimeDir choose(const Arguments& arguments);
  /// Makes the folder when it is missing (its parent must exist). Throws Error{usage} when it is not ours alone.
  explicit RuntimeDir(const std::string& path);

  const std::string& path() const noexcept { return path_; }
  int fd() const noexcept { return fd_.get(); }
  /// The names in it, sorted.
  std::vector<std::string> names() const;

 private:
  std::string path_;
  volume::FileDescriptor fd_;
};

}  // namespace nbdcrypt::cli
