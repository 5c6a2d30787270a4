// SPDX-License-Identifier: Apache-2.0
#include "nbdkit-plugin/guard.h"

#include <cerrno>
#include <cstdio>
#include <exception>
#include <new>

#include "base/error.h"
#include "nbdkit-plugin/nbdkit.h"

namespace nbdcrypt::plugin {
namespace {

// Failures of the system carry its errno; the others only their kind.
int errno_of(const base::Error& error) noexcept {
  if (error.os_error() != 0) return errno_for_client(error.os_error());
  switch (error.kind()) {
    case base::Kind::usage:
      return EINVAL;
    case base::Kind::unsupported:
      return ENOTSUP;
    case base::Kind::memory:
      return ENOMEM;
    case base::Kind::passphrase:
      return EPERM;
    default:
      return EIO;
  }
}

void report(const char* message, int error) noexcept {
  nbdkit_error("%s", message);
  nbdkit_set_error(error);
}

void report_with_hint(const base::Error& error) noexcept {
  if (error.hint().empty()) return report(error.what(), errno_of(error));
  nbdkit_error("%s\n%s", error.what(), error.hint().c_str());
  nbdkit_set_error(errno_of(error));
}

}  // namespace

int errno_for_client(int os_error) noexcept {
  switch (os_error) {
    case EPERM:
    case EIO:
    case ENOMEM:
    case EINVAL:
    case ENOSPC:
    case ESHUTDOWN:
    case ENOTSUP:
    case EOVERFLOW:
      return os_error;
    case EROFS:
    case EACCES:
      return EPERM;
    case EDQUOT:
    case EFBIG:
      return ENOSPC;
    default:
      return EIO;
  }
}

void warn(const std::string& message) noexcept {
  std::fprintf(stderr, "nbdkit: crypt: warning: %s\n", message.c_str());
}

void report_current_exception() noexcept {
  try {
    throw;
  } catch (const AlreadyReported&) { nbdkit_set_error(EINVAL); } catch (const base::Error& error) {
    report_with_hint(error);
  } catch (const std::bad_alloc&) { report("out of memory", ENOMEM); } catch (const std::exception& error) {
    report(error.what(), EIO);
  } catch (...) { report("unexpected failure", EIO); }
}

}  // namespace nbdcrypt::plugin
