// SPDX-License-Identifier: Apache-2.0
//
// Ctrl-C in the middle of several steps. While an Interrupts object lives, SIGINT, SIGTERM and SIGHUP are only
// remembered; the steps in between ask, and unwind as after any other error. Undoing is itself not interrupted.
#pragma once

#include <signal.h>

#include <array>

namespace nbdcrypt::cli {

class Interrupts {
 public:
  Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;
  ~Interrupts();  ///< puts the former handlers back

  /// The signal that came, 0: none.
  static int pending() noexcept;
  /// Throws Error{io, "interrupted"} when one came.
  static void check();

 private:
  static constexpr std::array kSignals{SIGINT, SIGTERM, SIGHUP};
  std::array<struct sigaction, kSignals.size()> former_;
};

}  // namespace nbdcrypt::cli
