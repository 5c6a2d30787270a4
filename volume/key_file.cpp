// SPDX-License-Identifier: Apache-2.0
//
// Key files and piped secrets, by the rules of cryptsetup(8), "Notes on passphrase processing": all bytes count, unless
// reading ends at the first newline, which is then dropped.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/error.h"
#include "volume/file_store.h"
#include "volume/open.h"

namespace nbdcrypt::volume {
namespace {

using base::Error;
using base::Kind;

constexpr std::uint64_t kMaxBytes = 8 * 1024 * 1024;  // as cryptsetup: a mistyped path shall not eat the memory
constexpr std::size_t kFirstBytes = 4096;

/// A key file, or standard input, which is left open.
class Input {
 public:
  explicit Input(const std::string& path) : name_(path == "-" ? "standard input" : path) {
    if (path != "-") {
      opened_ = FileDescriptor(open(path.c_str(), O_RDONLY | O_CLOEXEC));
      if (!opened_) base::throw_open_error(path, errno);
      fd_ = opened_.get();
    }
    if (fstat(fd_, &stat_) != 0) base::throw_os_error(name_, errno);
    if (S_ISDIR(stat_.st_mode)) base::throw_open_error(name_, EISDIR);
    if (isatty(fd_)) throw Error(Kind::usage, name_ + ": a key file is not read from a terminal");
  }

  const std::string& name() const { return name_; }
  bool regular() const { return S_ISREG(stat_.st_mode); }

  /// Up to `bytes`; 0 at the end.
  std::size_t read_some(Byte* to, std::size_t bytes) const {
    for (;;) {
      const ssize_t got = ::read(fd_, to, bytes);
      if (got >= 0) return static_cast<std::size_t>(got);
      if (errno != EINTR) base::throw_os_error(name_, errno);
    }
  }

  void skip(std::uint64_t bytes) const {
    if (bytes == 0) return;
    const off_t at = regular() ? lseek(fd_, 0, SEEK_CUR) : 0;
    if (regular() && (stat_.st_size < at || bytes > static_cast<std::uint64_t>(stat_.st_size - at)))
      throw_too_short(bytes);
    if (lseek(fd_, static_cast<off_t>(bytes), SEEK_CUR) >= 0) return;
    base::SecretBuffer thrown_away(kFirstBytes);
    for (std::uint64_t left = bytes; left > 0;) {
      const std::size_t got = read_some(thrown_away.data(), std::min<std::uint64_t>(left, thrown_away.size()));
      if (got == 0) throw_too_short(bytes);
      left -= got;
    }
  }

 private:
  [[noreturn]] void throw_too_short(std::uint64_t bytes) const {
    throw Error(Kind::usage, name_ + ": ends before offset " + std::to_string(bytes));
  }

  std::string name_;
  FileDescriptor opened_;
  int fd_ = STDIN_FILENO;
  struct stat stat_ = {};
};

/// Reads at most `most` bytes. With `stop_at_newline` byte by byte, so that nothing behind the newline is taken from a
/// pipe that others go on reading; `newline` says whether it came.
base::SecretBuffer read_up_to(const Input& input, std::uint64_t most, bool stop_at_newline, bool& newline) {
  base::SecretBuffer secret(kFirstBytes);
  std::size_t length = 0;
  while (length < most) {
    if (length == secret.size())
      secret.grow(std::min<std::uint64_t>(2 * secret.size(), std::max<std::uint64_t>(most, kFirstBytes)));
    const std::uint64_t room = std::min<std::uint64_t>(secret.size(), most) - length;
    const std::size_t got = input.read_some(secret.data() + length, stop_at_newline ? 1 : room);
    if (got == 0) break;
    if (stop_at_newline && secret.data()[length] == '\n') {
      newline = true;
      break;
    }
    length += got;
  }
  secret.shrink(length);
  return secret;
}

}  // namespace

base::SecretBuffer read_key_file(const std::string& path, std::uint64_t offset, std::uint64_t limit,
                                 bool stop_at_newline) {
  const Input input(path);
  input.skip(offset);
  bool newline = false;
  base::SecretBuffer secret = read_up_to(input, limit ? limit : kMaxBytes + 1, stop_at_newline, newline);
  if (secret.empty() && !newline && !input.regular()) throw Error(Kind::usage, input.name() + ": nothing to read");
  if (!limit && secret.size() > kMaxBytes)
    throw Error(Kind::usage,
                input.name() + ": longer than " + std::to_string(kMaxBytes) + " bytes, the most a key file may have");
  if (limit && secret.size() != limit)
    throw Error(Kind::usage, input.name() + ": " + std::to_string(secret.size()) + " bytes where " +
                                 std::to_string(limit) + " were asked for");
  return secret;
}

}  // namespace nbdcrypt::volume
