// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

namespace nbdcrypt::test {

/// A folder that goes away with all that is in it. In memory (/dev/shm) by default; pass `parent` for a real disk.
class TempDir {
 public:
  explicit TempDir(const std::string& parent = "/dev/shm") {
    std::string name = parent + "/nbdcrypt-test-XXXXXX";
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp " + name);
    path_ = name;
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  ~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

  /// Writes a file here and returns its path.
  std::string file(const std::string& name, const std::string& content) const {
    std::ofstream(path_ + "/" + name, std::ios::binary) << content;
    return path_ + "/" + name;
  }
  /// Makes a sparse file of `bytes` here and returns its path.
  std::string sparse(const std::string& name, std::uint64_t bytes) const {
    file(name, "");
    std::filesystem::resize_file(path_ + "/" + name, bytes);
    return path_ + "/" + name;
  }

 private:
  std::string path_;
};

inline std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace nbdcrypt::test
