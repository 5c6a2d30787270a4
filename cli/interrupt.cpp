// SPDX-License-Identifier: Apache-2.0
#include "cli/interrupt.h"

#include "base/error.h"

namespace nbdcrypt::cli {
namespace {

volatile sig_atomic_t g_pending = 0;
void remember(int signal) { g_pending = signal; }

}  // namespace

Interrupts::Interrupts() {
  struct sigaction action {};
  action.sa_handler = remember;  // without SA_RESTART: a waiting poll() returns
  g_pending = 0;
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    sigaction(kSignals[i], nullptr, &former_[i]);
    if (former_[i].sa_handler != SIG_IGN) sigaction(kSignals[i], &action, nullptr);  // nohup stays nohup
  }
}

Interrupts::~Interrupts() {
  for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &former_[i], nullptr);
}

int Interrupts::pending() noexcept { return g_pending; }

void Interrupts::check() {
  if (g_pending != 0) throw base::Error(base::Kind::io, "interrupted");
}

}  // namespace nbdcrypt::cli
