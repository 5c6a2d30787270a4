// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <stdexcept>
#include <string>

namespace nbdcrypt::test {

/// Standard input comes from somewhere else while it lives.
class StandardInput {
 public:
  explicit StandardInput(const std::string& path) : StandardInput(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  /// Takes `fd` over.
  explicit StandardInput(int fd) : saved_(dup(STDIN_FILENO)) {
    if (fd < 0 || dup2(fd, STDIN_FILENO) < 0) throw std::runtime_error("standard input cannot be replaced");
    close(fd);
  }
  StandardInput(const StandardInput&) = delete;
  StandardInput& operator=(const StandardInput&) = delete;
  ~StandardInput() {
    if (saved_ < 0) {
      close(STDIN_FILENO);
      return;
    }
    dup2(saved_, STDIN_FILENO);
    close(saved_);
  }

 private:
  int saved_;
};

}  // namespace nbdcrypt::test
