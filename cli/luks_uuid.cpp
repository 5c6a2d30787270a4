// SPDX-License-Identifier: Apache-2.0
//
// luksUUID: prints the UUID of a LUKS volume. Setting one is not done here.
#include <fmt/format.h>

#include "cli/command.h"
#include "cli/header_options.h"

namespace nbdcrypt::cli {
namespace {

int run(const Arguments& arguments) {
  fmt::print("{}\n", load_header(arguments).uuid());
  return 0;
}

}  // namespace

Command luks_uuid_command() {
  return {"luksUUID", {}, "IMAGE", "print the UUID of a LUKS volume", 1, 1, add_header_options, run};
}

}  // namespace nbdcrypt::cli
