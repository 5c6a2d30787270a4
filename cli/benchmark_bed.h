// SPDX-License-Identifier: Apache-2.0
//
// Where a column of `benchmark fs` works: a server (or the kernel's dm-crypt) on the benchmark's image, attached and
// mounted by the same steps as `nbdcrypt mount`, and taken down by the same way. An entry in the runtime folder
// remembers it meanwhile, so that somebody else can do that when the benchmark was killed: its watchdog, or else the
// next command.
#pragma once

#include <memory>
#include <string>

#include "bench/fs/experiment.h"
#include "cli/attach.h"
#include "cli/runtime.h"

namespace nbdcrypt::cli {

struct BedPlan {
  std::string image;   // absolute; its content is lost
  std::string folder;  // of the benchmark's own: mount point and the peers' passphrase
  std::string cipher;
  std::uint32_t key_bits = 0;
  std::uint32_t sector_bytes = 0;  // of our volumes, and of the device in every column
  std::string file_system;
  bool raw = false;  // attach, but mount nothing
  AttachChoice attach = AttachChoice::automatic;
  bool serve_only = false;           // attach nothing: the load goes to the server itself
  bool luks1 = false;                // our volumes are LUKS1 like the peers', with 512-byte sectors; else plain
  std::uint32_t server_threads = 0;  // of nbdkit; 0: its own choice
};

/// Throws base::Error for what the volume, this system or `column` cannot do, before anything is started.
void check_bed(const BedPlan& plan, const bench::fs::Column& column);

/// Formats, serves, attaches, makes the file system, mounts. Where a bed only serves, its where() is the server's URI.
std::unique_ptr<bench::fs::Bed> make_bed(const RuntimeDir& runtime, const BedPlan& plan,
                                         const bench::fs::Column& column);

/// Takes down what the process `benchmark` left when it was killed.
void remove_beds(const RuntimeDir& runtime, pid_t benchmark);

}  // namespace nbdcrypt::cli
