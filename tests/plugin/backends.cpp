// SPDX-License-Identifier: Apache-2.0
#include "tests/plugin/backends.h"

#include <iterator>
#include <sstream>

#include "tests/support/server.h"

namespace nbdcrypt::test {

std::vector<std::string> backends() {
  std::istringstream lines(
      check({"nbdkit", "--dump-plugin", NBDCRYPT_PLUGIN}, {.environment = sanitizer_environment()}));
  const std::string wanted = "crypt_backends=";
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(wanted)) continue;
    std::istringstream names(line.substr(wanted.size()));
    return {std::istream_iterator<std::string>(names), {}};
  }
  return {};
}

}  // namespace nbdcrypt::test
