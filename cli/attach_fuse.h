// SPDX-License-Identifier: Apache-2.0
//
// nbdfuse(1) shows the volume as the file NAME/dev. It runs for as long as that is mounted.
#pragma once

#include <string>

#include "cli/entry.h"

namespace nbdcrypt::cli {

/// What is missing for it, for people; empty when nothing is.
std::string fuse_is_missing();

void attach_fuse(const Entry& entry, State& state);
void detach_fuse(const Entry& entry);
void force_detach_fuse(const Entry& entry) noexcept;

}  // namespace nbdcrypt::cli
