// SPDX-License-Identifier: Apache-2.0
#include "tests/plugin/faults.h"

#include <algorithm>
#include <filesystem>
#include <sstream>

namespace nbdcrypt::test {
namespace {

Environment environment(const TempDir& dir, const std::string& image) {
  std::string preload = NBDCRYPT_FAULT_PRELOAD;
  if (*NBDCRYPT_SANITIZER_PRELOAD != '\0') preload = std::string(NBDCRYPT_SANITIZER_PRELOAD) + ":" + preload;
  return {{"LD_PRELOAD", preload},
          {"NBDCRYPT_FAULT_IMAGE", image},
          {"NBDCRYPT_FAULT_LOG", dir / "log"},
          {"NBDCRYPT_FAULT_PLAN", dir / "plan"}};
}

Args with_image(const std::string& image, const Args& more) {
  Args args{"file=" + image};
  args.insert(args.end(), more.begin(), more.end());
  return args;
}

}  // namespace

FaultyServer::FaultyServer(const std::string& image, const Args& plugin_args, const Args& nbdkit_args)
    : server_(with_image(image, plugin_args), nbdkit_args, NBDCRYPT_PLUGIN, environment(dir_, image)) {}

// By rename, so that the server never sees half a plan.
void FaultyServer::fail(const std::string& call, int error, int skip) const {
  dir_.file("new-plan", call + " " + std::to_string(error) + " " + std::to_string(skip) + "\n");
  std::filesystem::rename(dir_ / "new-plan", dir_ / "plan");
}

bool FaultyServer::failed() const { return !std::filesystem::exists(dir_ / "plan"); }

std::vector<FaultyServer::Call> FaultyServer::calls() {
  const std::string log = read_file(dir_ / "log");
  std::istringstream lines(log.substr(std::min(seen_, log.size())));
  seen_ = log.size();
  std::vector<Call> found;
  for (Call call; lines >> call.name >> call.offset >> call.bytes;) found.push_back(call);
  return found;
}

std::size_t FaultyServer::count(const std::string& name) {
  const std::vector<Call> all = calls();
  return static_cast<std::size_t>(std::count_if(all.begin(), all.end(), [&](const Call& c) { return c.name == name; }));
}

}  // namespace nbdcrypt::test
