// SPDX-License-Identifier: Apache-2.0
#include "cli/runtime.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>

#include "base/error.h"

namespace nbdcrypt::cli {
namespace {

using base::Error;
using base::Kind;

constexpr std::size_t kMaxNameBytes = 127;  // as long as device-mapper allows

std::optional<std::string> environment(const char* variable) {
  const char* value = std::getenv(variable);
  return value && *value ? std::optional<std::string>(value) : std::nullopt;
}

// sudo and su may leave the caller's XDG_RUNTIME_DIR behind: a folder of somebody else's is none.
bool is_ours(const std::string& path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0 && status.st_uid == geteuid();
}

std::string without_trailing_slashes(const std::string& path) {
  std::string absolute = std::filesystem::absolute(path).lexically_normal();
  while (absolute.size() > 1 && absolute.back() == '/') absolute.pop_back();
  return absolute;
}

// The last component must not be a symbolic link; its parents may be (/var/run).
volume::FileDescriptor open_or_make(const std::string& path) {
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    throw Error(Kind::usage, "runtime folder " + path + ": " + std::system_category().message(errno), errno);
  }
  volume::FileDescriptor fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd)
    throw Error(Kind::usage,
                "runtime folder " + path + ": not a folder of ours: " + std::system_category().message(errno), errno);
  return fd;
}

std::string octal(mode_t mode) {
  char text[8];
  std::snprintf(text, sizeof text, "%04o", static_cast<unsigned>(mode));
  return text;
}

}  // namespace

void add_runtime_options(po::options_description& options) {
  options.add_options()(
      "runtime-dir", po::value<std::string>()->value_name("DIR"),
      "folder of open volumes (default $NBDCRYPT_RUNTIME_DIR, $XDG_RUNTIME_DIR/nbdcrypt, /run/nbdcrypt)");
}

void check_name(const std::string& name) {
  const auto unfit = [](char c) {
    return c == '/' || c == ',' || c == '\\' || static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
  };
  if (name.empty()) throw Error(Kind::usage, "the name is empty");
  if (name.size() > kMaxNameBytes) {
    throw Error(Kind::usage,
                "the name has " + std::to_string(name.size()) + " bytes, at most " + std::to_string(kMaxNameBytes));
  }
  if (name.front() == '.') throw Error(Kind::usage, name + ": a name must not begin with a dot");
  if (std::any_of(name.begin(), name.end(), unfit)) {
    throw Error(Kind::usage, "a name must not contain '/', ',', '\\' or control characters");
  }
}

void check_private(int fd, mode_t type, const std::string& path) {
  struct stat status;
  if (fstat(fd, &status) != 0) base::throw_os_error(path, errno);
  if ((status.st_mode & S_IFMT) != type)
    throw Error(Kind::usage, path + ": not a " + (type == S_IFDIR ? "folder" : "regular file"));
  if (status.st_uid != geteuid()) {
    throw Error(Kind::usage, path + ": belongs to user " + std::to_string(status.st_uid) + ", expected " +
                                 std::to_string(geteuid()));
  }
  const mode_t mode = status.st_mode & 07777;
  if ((mode & 077) != 0) {
    throw Error(Kind::usage, path + ": mode is " + octal(mode) + ", expected " + (type == S_IFDIR ? "0700" : "0600"), 0,
                "it must be closed to everybody else: chmod go= " + path);
  }
}

RuntimeDir RuntimeDir::choose(const Arguments& arguments) {
  if (arguments.has("runtime-dir")) return RuntimeDir(arguments.get<std::string>("runtime-dir"));
  if (const auto named = environment("NBDCRYPT_RUNTIME_DIR")) return RuntimeDir(*named);
  if (const auto xdg = environment("XDG_RUNTIME_DIR"); xdg && is_ours(*xdg)) return RuntimeDir(*xdg + "/nbdcrypt");
  if (geteuid() == 0) return RuntimeDir("/run/nbdcrypt");
  throw Error(Kind::usage, "no runtime folder: XDG_RUNTIME_DIR is not set, or not yours", 0,
              "name a folder of yours, mode 0700 and not in /tmp: --runtime-dir DIR, or NBDCRYPT_RUNTIME_DIR=DIR");
}

RuntimeDir::RuntimeDir(const std::string& path) : path_(without_trailing_slashes(path)), fd_(open_or_make(path_)) {
  check_private(fd_.get(), S_IFDIR, "runtime folder " + path_);
  path_ = std::filesystem::canonical(path_);  // as mount tables spell it
}

std::vector<std::string> RuntimeDir::names() const {
  const int copy = openat(fd_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);  // readdir() moves the offset
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(fdopendir(copy), closedir);
  if (!folder) base::throw_os_error(path_, errno);
  std::vector<std::string> names;
  while (const dirent* entry = readdir(folder.get())) {
    if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace nbdcrypt::cli
