// SPDX-License-Identifier: Apache-2.0
//
// The kernel's own NBD client: /dev/nbdN by nbd-client(8), with NAME/dev a symbolic link to it. Root only.
#pragma once

#include <string>

#include "cli/entry.h"

namespace nbdcrypt::cli {

/// What is missing for it, for people; empty when nothing is.
std::string nbd_is_missing();

void attach_nbd(const Entry& entry, State& state);
void detach_nbd(const State& state);
void force_detach_nbd(const State& state) noexcept;

}  // namespace nbdcrypt::cli
