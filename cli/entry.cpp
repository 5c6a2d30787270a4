// SPDX-License-Identifier: Apache-2.0
#include "cli/entry.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <thread>

#include "base/error.h"

namespace nbdcrypt::cli {
namespace {

using base::Error;
using base::Kind;
using volume::FileDescriptor;

constexpr const char* kLockFile = "lock";
constexpr const char* kStateFile = "state.json";
constexpr const char* kNewStateFile = "state.json.new";
constexpr const char* kFiles[] = {kStateFile,     kNewStateFile,      kSocketFile, "control.sock",
                                  kServerPidFile, kAttachmentPidFile, kDeviceFile};
constexpr auto kPollInterval = std::chrono::milliseconds(10);

struct flock byte_of(Role role) noexcept {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = static_cast<int>(role);
  lock.l_len = 1;
  return lock;
}

bool try_lock(int fd, Role role) {
  struct flock lock = byte_of(role);
  return fcntl(fd, F_OFD_SETLK, &lock) == 0;
}

bool locked_by_others(int fd, Role role) {
  struct flock lock = byte_of(role);
  return fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

// -1 with ENOENT when it is not there. Never through a symbolic link.
FileDescriptor open_private(int folder, const char* name, int flags, mode_t type, const std::string& path) {
  FileDescriptor fd(openat(folder, name, flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600));
  if (fd) {
    check_private(fd.get(), type, path);
  } else if (errno != ENOENT) {
    throw Error(Kind::usage, path + ": " + std::system_category().message(errno), errno);
  }
  return fd;
}

bool same_file(int fd, int folder, const char* name) {
  struct stat opened, named;
  return fstat(fd, &opened) == 0 && fstatat(folder, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
         opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

std::string read_all(int fd) {
  std::string text;
  char buffer[4096];
  for (ssize_t n; (n = ::read(fd, buffer, sizeof buffer)) > 0;) text.append(buffer, static_cast<std::size_t>(n));
  return text;
}

void write_all(int fd, const std::string& text, const std::string& path) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t n = ::write(fd, text.data() + done, text.size() - done);
    if (n < 0 && errno != EINTR) base::throw_os_error(path, errno);
    if (n > 0) done += static_cast<std::size_t>(n);
  }
}

std::optional<State> read_state(int folder, const std::string& path) {
  const FileDescriptor fd = open_private(folder, kStateFile, O_RDONLY, S_IFREG, path);
  return fd ? std::optional<State>(from_json(read_all(fd.get()), path)) : std::nullopt;
}

}  // namespace

void check_entry_name(const RuntimeDir& runtime, const std::string& name) {
  check_name(name);
  constexpr std::size_t kMax = sizeof(sockaddr_un::sun_path) - 1;
  const std::string socket = runtime.path() + "/" + name + "/" + kSocketFile;
  if (socket.size() <= kMax) return;
  throw Error(
      Kind::usage,
      socket + ": a socket's path of " + std::to_string(socket.size()) + " bytes, at most " + std::to_string(kMax), 0,
      "choose a shorter name or --runtime-dir");
}

// Nothing when the entry vanished in between, or is missing and not to be made.
std::optional<Entry> Entry::try_hold(const RuntimeDir& runtime, const std::string& name, bool make) {
  Entry entry(name, runtime.path() + "/" + name);
  entry.runtime_fd_ = runtime.fd();
  if (make && mkdirat(runtime.fd(), name.c_str(), 0700) != 0 && errno != EEXIST)
    base::throw_os_error(entry.path_, errno);
  entry.folder_ = open_private(runtime.fd(), name.c_str(), O_RDONLY | O_DIRECTORY, S_IFDIR, entry.path_);
  if (!entry.folder_) return {};
  entry.lock_ = open_private(entry.folder_.get(), kLockFile, O_RDWR | O_CREAT, S_IFREG, entry.path(kLockFile));
  if (!entry.lock_) return {};  // the folder was removed after we opened it
  if (!try_lock(entry.lock_.get(), Role::command)) throw Error(Kind::busy, name + ": another command is at work on it");
  // Only now is it certain that the former holder did not remove the file while we waited for it.
  if (!same_file(entry.lock_.get(), entry.folder_.get(), kLockFile)) return {};
  return entry;
}

Entry Entry::make(const RuntimeDir& runtime, const std::string& name) {
  check_entry_name(runtime, name);
  for (;;) {
    if (auto entry = try_hold(runtime, name, true)) return std::move(*entry);
  }
}

Entry Entry::find(const RuntimeDir& runtime, const std::string& name) {
  check_name(name);
  for (struct stat status; fstatat(runtime.fd(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;) {
    if (auto entry = try_hold(runtime, name, false)) return std::move(*entry);
  }
  throw Error(Kind::device, name + ": not active");
}

bool Entry::lives(Role role) const { return locked_by_others(lock_.get(), role); }

FileDescriptor Entry::lock_for(Role role) const {
  FileDescriptor fd = open_private(folder_.get(), kLockFile, O_RDWR, S_IFREG, path(kLockFile));
  if (!fd || !try_lock(fd.get(), role)) throw Error(Kind::busy, name_ + ": already active");
  return fd;
}

bool Entry::wait_for_end(Role role, std::chrono::milliseconds patience) const {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (lives(role)) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(kPollInterval);
  }
  return true;
}

std::optional<State> Entry::state() const { return read_state(folder_.get(), path(kStateFile)); }

void Entry::write(const State& state) const {
  const std::string new_path = path(kNewStateFile);
  unlink(kNewStateFile);
  const FileDescriptor fd = open_private(folder_.get(), kNewStateFile, O_WRONLY | O_CREAT | O_EXCL, S_IFREG, new_path);
  if (!fd) base::throw_os_error(new_path, errno);
  write_all(fd.get(), to_json(state), new_path);
  if (renameat(folder_.get(), kNewStateFile, folder_.get(), kStateFile) != 0) base::throw_os_error(new_path, errno);
}

pid_t Entry::pid_in(const char* file) const {
  const FileDescriptor fd(openat(folder_.get(), file, O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  const std::string text = fd ? read_all(fd.get()) : std::string();
  return text.ends_with('\n') ? static_cast<pid_t>(std::strtol(text.c_str(), nullptr, 10)) : 0;
}

void Entry::write_pid(const char* file, pid_t pid) const {
  unlink(file);
  const FileDescriptor fd = open_private(folder_.get(), file, O_WRONLY | O_CREAT | O_EXCL, S_IFREG, path(file));
  if (!fd) base::throw_os_error(path(file), errno);
  write_all(fd.get(), std::to_string(pid) + "\n", path(file));
}

void Entry::make_empty_file(const char* file) const {
  if (!open_private(folder_.get(), file, O_RDWR | O_CREAT, S_IFREG, path(file)))
    base::throw_os_error(path(file), errno);
}

void Entry::make_link(const char* file, const std::string& target) const {
  unlink(file);
  if (symlinkat(target.c_str(), folder_.get(), file) != 0) base::throw_os_error(path(file), errno);
}

void Entry::unlink(const char* file) const noexcept { unlinkat(folder_.get(), file, 0); }

void Entry::remove() {
  for (const char* file : kFiles) unlink(file);
  unlink(kLockFile);
  // Somebody may hold the folder by now through a new lock file: then it is theirs.
  if (unlinkat(runtime_fd_, name_.c_str(), AT_REMOVEDIR) != 0 && errno != ENOENT && errno != ENOTEMPTY) {
    base::throw_os_error(path_, errno);
  }
}

std::optional<Glance> glance(const RuntimeDir& runtime, const std::string& name) {
  check_name(name);
  const std::string path = runtime.path() + "/" + name;
  const FileDescriptor folder = open_private(runtime.fd(), name.c_str(), O_RDONLY | O_DIRECTORY, S_IFDIR, path);
  if (!folder) return {};
  const FileDescriptor lock = open_private(folder.get(), kLockFile, O_RDWR, S_IFREG, path + "/" + kLockFile);
  Glance seen{
      lock && locked_by_others(lock.get(), Role::server), lock && locked_by_others(lock.get(), Role::command), {}};
  seen.state = read_state(folder.get(), path + "/" + kStateFile);
  return seen;
}

std::optional<Glance> glance_if_sound(const RuntimeDir& runtime, const std::string& name) {
  try {
    return glance(runtime, name);
  } catch (const Error&) { return {}; }
}

}  // namespace nbdcrypt::cli
