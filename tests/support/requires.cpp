// SPDX-License-Identifier: Apache-2.0
#include "tests/support/requires.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>

namespace nbdcrypt::test {

bool have_tool(const std::string& program) {
  std::istringstream path(std::string(std::getenv("PATH") ? std::getenv("PATH") : "") + ":/usr/sbin:/sbin");
  for (std::string dir; std::getline(path, dir, ':');) {
    if (access((dir + "/" + program).c_str(), X_OK) == 0) return true;
  }
  return false;
}

bool strict() {
  const char* value = std::getenv("NBDCRYPT_STRICT");
  return value != nullptr && std::string(value) == "1";
}

std::string images_dir() {
  const char* named = std::getenv("NBDCRYPT_IMAGES");
  const std::filesystem::path dir =
      named ? std::filesystem::path(named) : std::filesystem::path(NBDCRYPT_SOURCE) / "../shared/images";
  return std::filesystem::is_directory(dir) ? std::filesystem::canonical(dir).string() : std::string();
}

}  // namespace nbdcrypt::test
