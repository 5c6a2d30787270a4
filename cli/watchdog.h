// SPDX-License-Identifier: Apache-2.0
//
// A process that does nothing but outlive us: when we end without having dismissed it, be it by SIGKILL, it does what
// we could not do any more. It is a copy of ours from the moment it was made, out of reach of the terminal's Ctrl-C.
#pragma once

#include <sys/types.h>

#include <functional>

namespace nbdcrypt::cli {

class Watchdog {
 public:
  /// `clean_up` runs in the copy; what it throws is lost. No other thread may run when it is made.
  explicit Watchdog(const std::function<void()>& clean_up);
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;
  ~Watchdog();  ///< dismisses it

 private:
  pid_t pid_ = -1;
};

}  // namespace nbdcrypt::cli
