// SPDX-License-Identifier: Apache-2.0
//
// What the servers are made to do, by foreign clients: nbdcopy over the whole volume, fio over 16 connections.
#pragma once

#include <string>
#include <vector>

#include "bench/nbd/servers.h"

namespace nbdcrypt::bench {

struct Load {
  std::string name;         // "nbdcopy read", "fio randread 4k"
  std::string tool;         // "nbdcopy" or "fio"
  std::string rw;           // nbdcopy: read, write; fio: its --rw
  std::string block_bytes;  // fio: its --bs
};

/// nbdcopy read and write; with fio also random reads and writes of 4 KiB and sequential ones of 1 MiB.
std::vector<Load> all_loads();

struct Sample {
  double mb_per_s = 0;
  double cpu_seconds_per_gb = 0;  // of the server
  std::int64_t rss_anon_kib = 0;  // of the server, when the load is over
};

/// Runs the load once against a server that was started for it. `fio_seconds`: how long fio runs.
Sample run_load(const Load& load, const ServerKind& kind, const Disks& disks, double fio_seconds);

}  // namespace nbdcrypt::bench
