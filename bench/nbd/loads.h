// SPDX-License-Identifier: Apache-2.0
//
// What the servers are made to do, by foreign clients: nbdcopy over the whole volume, fio with requests of one size;
// and what is made of their figures.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/tables/row.h"

namespace nbdcrypt::bench::nbd {

struct Load {
  std::string name;          // "nbdcopy read", "fio randread 4k"
  std::string rw;            // nbdcopy: read, write; fio: its --rw
  std::string block;         // fio: its --bs; empty: nbdcopy
  unsigned connections = 4;  // fio: a process each
  unsigned depth = 0;        // fio: requests in flight on each connection

  bool copies() const { return block.empty(); }
};

/// nbdcopy read and write; with fio also random reads and writes of 4 KiB, 32 in flight, and sequential ones of 1 MiB,
/// 16 in flight; all of them at each number of connections.
std::vector<Load> loads(const std::vector<unsigned>& connections, bool with_fio);

/// The program and its arguments. `source`: the file that nbdcopy writes from; `seconds`: how long fio runs.
std::vector<std::string> words(const Load& load, const std::string& uri, const std::string& source, double seconds);

struct Moved {
  double bytes = 0, seconds = 0;
};
/// What fio printed. Throws base::Error{format} when that is not understood.
Moved fio_result(const Load& load, const std::string& output);

struct Sample {
  double mb_per_s = 0;            // MB are 10^6 bytes
  double cpu_seconds_per_gb = 0;  // of the server
};

/// Throughput, the ratio to `plain` and the server's processor time: medians over the rounds, where the ratio is taken
/// in each round by itself. ratio_low and ratio_high enclose the median ratio with at least 90 % confidence, by order
/// statistics; fewer than five rounds cannot tell.
Row summary(const Load& load, const std::vector<Sample>& samples, const std::vector<Sample>& plain);

/// The confidence interval of the median of sorted values, which makes no assumption on how they are distributed.
struct Interval {
  double low, high;  // NaN: too few values
};
Interval median_interval(const std::vector<double>& sorted);

}  // namespace nbdcrypt::bench::nbd
