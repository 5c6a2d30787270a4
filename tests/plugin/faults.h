// SPDX-License-Identifier: Apache-2.0
//
// A server whose system calls on its image are logged and can be made to fail, through fault_preload.c.
#pragma once

#include <string>
#include <vector>

#include "tests/plugin/images.h"
#include "tests/support/server.h"

namespace nbdcrypt::test {

class FaultyServer {
 public:
  explicit FaultyServer(const std::string& image, const Args& plugin_args, const Args& nbdkit_args = {});

  Server& server() { return server_; }
  Client connect() const { return server_.connect(); }

  /// The call number `skip` from now ("pread", "pwrite", "fdatasync") fails once with `error`; 0: it does half.
  void fail(const std::string& call, int error, int skip = 0) const;
  /// True when the planned failure happened.
  bool failed() const;

  struct Call {
    std::string name;
    std::uint64_t offset, bytes;
  };
  /// The calls since the last call of this function.
  std::vector<Call> calls();
  /// How many of them were `name`.
  std::size_t count(const std::string& name);

 private:
  TempDir dir_;
  std::size_t seen_ = 0;
  Server server_;
};

}  // namespace nbdcrypt::test
