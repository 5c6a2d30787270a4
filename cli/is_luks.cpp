// SPDX-License-Identifier: Apache-2.0
//
// isLuks: the exit code says whether an image is a LUKS volume: 0 yes, 1 no, 4 no such image. Prints nothing for yes
// and no.
#include "base/error.h"
#include "cli/command.h"
#include "cli/header_options.h"

namespace nbdcrypt::cli {
namespace {

int run(const Arguments& arguments) {
  try {
    load_header(arguments);
    return 0;
  } catch (const base::Error& e) {
    if (e.kind() != base::Kind::format) throw;
    return 1;
  }
}

}  // namespace

Command is_luks_command() {
  return {"isLuks",           {}, "IMAGE", "say by the exit code whether an image is a LUKS volume", 1, 1,
          add_header_options, run};
}

}  // namespace nbdcrypt::cli
