// SPDX-License-Identifier: Apache-2.0
//
// The border between C++ and nbdkit's C callbacks: no exception crosses it. A failure is told to the user with
// nbdkit_error() and to the client with nbdkit_set_error(), which is thread-local: guard() runs on the request's
// thread.
#pragma once

#include <string>
#include <type_traits>
#include <utility>

namespace nbdcrypt::plugin {

/// Thrown where nbdkit has already told the user what is wrong (nbdkit_parse_bool() and its like do).
struct AlreadyReported {};

/// The errno that an NBD client is told for `os_error`: EPERM EIO ENOMEM EINVAL ENOSPC ESHUTDOWN ENOTSUP EOVERFLOW as
/// they are, EROFS and EACCES as EPERM, EDQUOT and EFBIG as ENOSPC, everything else as EIO (nbdkit would say EINVAL).
int errno_for_client(int os_error) noexcept;

/// One line on standard error, for .config to .get_ready: nbdkit has no warnings, and calls all that nbdkit_error()
/// says errors.
void warn(const std::string& message) noexcept;

/// Reports the exception that is being handled. Call it in a catch block only.
void report_current_exception() noexcept;

/// Returns body(), or `failed` when it throws; what it threw is reported.
template <class Result, class Body>
Result guard_or(Result failed, Body&& body) noexcept {
  try {
    return std::forward<Body>(body)();
  } catch (...) {
    report_current_exception();
    return failed;
  }
}

/// Runs `body`, which returns nothing: 0, or -1 when it throws, as most callbacks want it.
template <class Body>
int guard(Body&& body) noexcept {
  static_assert(std::is_void_v<std::invoke_result_t<Body>>);
  return guard_or(-1, [&] {
    std::forward<Body>(body)();
    return 0;
  });
}

}  // namespace nbdcrypt::plugin
