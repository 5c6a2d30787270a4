// SPDX-License-Identifier: Apache-2.0
//
// What the commands share that only look at a LUKS header.
#pragma once

#include "cli/command.h"
#include "volume/header.h"

namespace nbdcrypt::cli {

/// type and header.
void add_header_options(po::options_description& options);

/// The header of the image in the first argument. Throws Error as volume::Header::load(), and {usage} for --type plain.
volume::Header load_header(const Arguments& arguments);

}  // namespace nbdcrypt::cli
