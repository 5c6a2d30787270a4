// SPDX-License-Identifier: Apache-2.0
//
// luksDump: what a LUKS header says, as text or JSON. Reads only.
#include <fmt/format.h>

#include "cli/add_options.h"
#include "cli/command.h"
#include "cli/header_options.h"

namespace nbdcrypt::cli {
namespace {

void add_options(po::options_description& options) {
  add_header_options(options);
  add_flag(options, "json", "the metadata as JSON, for LUKS1 in the same shape");
  add_flag(options, "dump-json-metadata", "the same, by cryptsetup's name");
}

int run(const Arguments& arguments) {
  const volume::Header header = load_header(arguments);
  const bool json = arguments.flag("json") || arguments.flag("dump-json-metadata");
  const std::string text = json ? header.dump_json() : header.dump_text();
  fmt::print("{}{}", text, text.ends_with('\n') ? "" : "\n");
  return 0;
}

}  // namespace

Command luks_dump_command() {
  return {"luksDump", {"dump"}, "IMAGE", "show the header of a LUKS volume", 1, 1, add_options, run};
}

}  // namespace nbdcrypt::cli
