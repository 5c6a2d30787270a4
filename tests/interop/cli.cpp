// SPDX-License-Identifier: Apache-2.0
#include "tests/interop/cli.h"

#include <sstream>

#include "tests/support/server.h"

namespace nbdcrypt::test {
namespace {

constexpr const char* kName = "volume";

}  // namespace

Result nbdcrypt_cli(const Args& args, const std::string& input) {
  Args argv = {NBDCRYPT_PROGRAM};
  argv.insert(argv.end(), args.begin(), args.end());
  return run(argv, {.input = input, .environment = {{"NBDCRYPT_PLUGIN", NBDCRYPT_PLUGIN}}});
}

std::string message_of(const Result& result) {
  constexpr std::string_view kPrefix = "nbdcrypt: ";
  std::string message;
  std::istringstream lines(result.err);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(kPrefix)) message = line.substr(kPrefix.size());
  }
  return message;
}

OpenVolume::OpenVolume(const std::string& image, const Args& options) {
  Args args = {"open", image, kName, "--runtime-dir", runtime_.path(), "--attach", "none"};
  args.insert(args.end(), options.begin(), options.end());
  opened_ = nbdcrypt_cli(args);
  open_ = opened_.ok();
}

OpenVolume::~OpenVolume() {
  if (open_) close();
}

std::string OpenVolume::uri() const { return "nbd+unix:///?socket=" + (runtime_ / kName) + "/nbd.sock"; }

Result OpenVolume::close() {
  open_ = false;
  return nbdcrypt_cli({"close", kName, "--runtime-dir", runtime_.path()});
}

}  // namespace nbdcrypt::test
