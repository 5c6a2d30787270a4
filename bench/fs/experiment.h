// SPDX-License-Identifier: Apache-2.0
//
// What is compared, and the comparison itself: every column takes its turn in every round, each time on a fresh file
// system behind a fresh server, and each round begins with another one.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench/fs/worker.h"
#include "modes/chain.h"

namespace nbdcrypt::bench::fs {

/// A way to serve the data.
struct Column {
  enum class Server { nbdkit_file, nbdcrypt, nbdkit_luks, qemu_luks, dm_crypt };
  std::string name;  // "no encryption", "batch", ...
  Server server = Server::nbdcrypt;
  modes::Offload offload = modes::Offload::batch;
  std::string backend = {};  // empty: the best
};

/// No encryption, one block at a time, whole buffer, batch (all with the backend `first`, or the best when it is
/// empty); then a batch column for each of `more`, and with `peers` nbdkit's luks filter, QEMU's luks driver and
/// dm-crypt.
std::vector<Column> columns_for(const std::string& first, const std::vector<std::string>& more, bool peers);

/// A server and what it takes to reach the data on it. Everything is gone when it is destroyed.
class Bed {
 public:
  virtual ~Bed() = default;
  /// The folder, or with --raw the device, to work on.
  virtual const std::string& where() const = 0;
  /// Processor time of the server so far. NaN when it has ended, or is the kernel.
  virtual double server_cpu_seconds() const = 0;
};
using MakeBed = std::function<std::unique_ptr<Bed>(const Column&)>;

/// The load on one bed.
using MakeBody = std::function<Body(const std::string& where)>;

struct Sample {
  Phase phase;
  double per_second;          // kB (1024 bytes), or operations
  double cpu_seconds_per_gb;  // of the server, GB are 10^9 bytes; NaN where it cannot be told
  double phase_seconds;
};

/// samples[column][round]: one for each phase that ran.
using Samples = std::vector<std::vector<std::vector<Sample>>>;

/// Told before each turn and within it.
struct Follower {
  std::function<void(int round, const Column&)> begin;
  std::function<void(Phase, std::uint64_t done_bytes)> step;
  std::function<void()> check;  // throws to stop it all
};

/// `cpu_per_phase`: false when the load's phases are only known after it has ended.
Samples compare(const std::vector<Column>& columns, int rounds, const MakeBed& make_bed, const MakeBody& make_body,
                const MemoryGroup* group, bool cpu_per_phase, const Follower& follower);

}  // namespace nbdcrypt::bench::fs
