// SPDX-License-Identifier: Apache-2.0
#include "cli/new_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/error.h"

namespace nbdcrypt::cli {

NewFile::NewFile(std::string path, std::uint64_t bytes)
    : path_(std::move(path)), fd_(open(path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600)) {
  if (!fd_ && errno == EEXIST) throw base::Error(base::Kind::busy, path_ + ": exists already", EEXIST);
  if (!fd_) base::throw_open_error(path_, errno);
  if (ftruncate(fd_.get(), static_cast<off_t>(bytes)) == 0) return;
  const int os_error = errno;
  unlink(path_.c_str());
  base::throw_os_error(path_ + ": making it " + std::to_string(bytes) + " bytes long", os_error);
}

NewFile::NewFile(NewFile&& other) noexcept : path_(std::exchange(other.path_, {})), fd_(std::move(other.fd_)) {}

NewFile::~NewFile() {
  if (!path_.empty()) unlink(path_.c_str());
}

}  // namespace nbdcrypt::cli
