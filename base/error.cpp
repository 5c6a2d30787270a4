// SPDX-License-Identifier: Apache-2.0
#include "base/error.h"

#include <cerrno>
#include <system_error>

namespace nbdcrypt::base {
namespace {

std::string with_reason(const std::string& what, int os_error) {
  return what + ": " + std::generic_category().message(os_error);
}

}  // namespace

void throw_os_error(const std::string& what, int os_error) {
  throw Error(os_error == ENOMEM ? Kind::memory : Kind::io, with_reason(what, os_error), os_error);
}

void throw_open_error(const std::string& path, int os_error) {
  switch (os_error) {
    case EBUSY:
      throw Error(Kind::busy, with_reason(path, os_error), os_error);
    case ENOENT:
    case ENOTDIR:
    case EISDIR:
    case EACCES:
    case EPERM:
    case EROFS:
    case ELOOP:
    case ENXIO:
    case ENODEV:
      throw Error(Kind::device, with_reason(path, os_error), os_error);
    default:
      throw_os_error(path, os_error);
  }
}

}  // namespace nbdcrypt::base
