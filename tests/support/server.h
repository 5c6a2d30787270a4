// SPDX-License-Identifier: Apache-2.0
//
// A real nbdkit in the foreground on a Unix socket, and real libnbd clients of it.
#pragma once

#include <libnbd.h>

#include <cstdint>
#include <span>
#include <string>

#include "tests/support/process.h"
#include "tests/support/temp_dir.h"

namespace nbdcrypt::test {

/// One NBD connection. Each call throws std::runtime_error with libnbd's message; errno_of() gives the errno of a
/// refused one.
class Client {
 public:
  explicit Client(const std::string& uri);
  Client(Client&& other) noexcept : nbd_(std::exchange(other.nbd_, nullptr)) {}
  ~Client();
  std::uint64_t size() const;
  void read(std::uint64_t offset, std::span<std::uint8_t> out);
  void write(std::uint64_t offset, std::span<const std::uint8_t> in, bool fua = false);
  void zero(std::uint64_t offset, std::uint64_t bytes, std::uint32_t flags = 0);
  void trim(std::uint64_t offset, std::uint64_t bytes);
  void flush();
  /// The handle itself, for everything else.
  nbd_handle* get() const { return nbd_; }
  /// The errno of the last call that threw.
  int last_errno() const { return errno_; }

 private:
  void done(int result);
  nbd_handle* nbd_;
  int errno_ = 0;
};

class Server {
 public:
  /// Starts nbdkit -f -U SOCKET and the arguments (our plugin first unless `plugin` names another), waits until it
  /// listens; throws with what it printed when it ends before. Sanitizer runtimes are preloaded in sanitizer builds.
  explicit Server(const Args& plugin_args, const Args& nbdkit_args = {}, const std::string& plugin = NBDCRYPT_PLUGIN,
                  const Environment& environment = {});
  ~Server();
  std::string uri() const { return "nbd+unix:///?socket=" + socket(); }
  std::string socket() const { return dir_ / "sock"; }
  Client connect() const { return Client(uri()); }
  pid_t pid() const { return child_.pid(); }
  std::string errors() const { return read_file(dir_ / "stderr"); }
  bool alive() { return child_.alive(); }
  /// Stops it and returns its exit code.
  int stop() { return child_.stop(); }

 private:
  TempDir dir_;
  Child child_;
};

/// nbdkit with our plugin to its end, for start-up errors: exit code and what it printed.
Result nbdkit_once(const Args& plugin_args, const Args& nbdkit_args = {});

/// What a sanitizer build needs in the environment of a foreign program that loads our plugin.
Environment sanitizer_environment();

}  // namespace nbdcrypt::test
