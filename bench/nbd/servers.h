// SPDX-License-Identifier: Apache-2.0
//
// The servers that are compared, each over the same LUKS1 image (the plain one over a file of the same size beside it),
// and what the kernel says that they used.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tests/support/process.h"
#include "tests/support/temp_dir.h"

namespace nbdcrypt::bench {

/// A way to serve the data. argv ends before what depends on the run; "%s" in it becomes the socket.
struct ServerKind {
  std::string name;
  test::Args argv;
  bool plain = false;  // the baseline: no encryption
};

/// The image, the plain file and the key, in a folder of its own in memory.
class Disks {
 public:
  explicit Disks(std::uint64_t data_bytes);
  const std::string& folder() const { return dir_.path(); }
  std::uint64_t data_bytes() const { return data_bytes_; }
  /// "nbdcrypt", "nbdkit luks", "qemu luks", "plain": those whose programs are installed.
  std::vector<ServerKind> servers() const;
  /// A file of data_bytes() without a pattern and without holes, to write from.
  std::string source() const { return dir_ / "source"; }

 private:
  std::uint64_t data_bytes_;
  test::TempDir dir_;
};

/// A running server. Starts when it is constructed and listens when the constructor returns; killed at the end.
class RunningServer {
 public:
  RunningServer(const ServerKind& kind, const std::string& folder);
  std::string uri() const { return "nbd+unix:///?socket=" + socket_; }
  /// User and system time so far.
  double cpu_seconds() const;
  /// Anonymous memory that it holds now (RssAnon of /proc/PID/status).
  std::int64_t rss_anon_kib() const;

 private:
  std::string socket_, errors_;
  std::unique_ptr<test::Child> child_;
};

}  // namespace nbdcrypt::bench
