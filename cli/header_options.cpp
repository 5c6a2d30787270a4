// SPDX-License-Identifier: Apache-2.0
#include "cli/header_options.h"

#include "base/error.h"
#include "cli/add_options.h"

namespace nbdcrypt::cli {

void add_header_options(po::options_description& options) {
  add_value<std::string>(options, "type,M", "TYPE", "luks (default: either version), luks1 or luks2");
  add_value<std::string>(options, "header", "FILE", "the LUKS header is in FILE");
}

volume::Header load_header(const Arguments& arguments) {
  const std::string type = arguments.get_or<std::string>("type", "luks");
  const volume::Type parsed = volume::parse_type(type);
  if (parsed == volume::Type::plain) {
    throw base::Error(base::Kind::usage, arguments.name + ": option --type plain: a plain volume has no header");
  }
  std::optional<std::string> header;
  if (arguments.has("header")) header = arguments.get<std::string>("header");
  return volume::Header::load(arguments.positional[0], header, parsed);
}

}  // namespace nbdcrypt::cli
