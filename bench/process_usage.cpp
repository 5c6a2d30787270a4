// SPDX-License-Identifier: Apache-2.0
#include "bench/process_usage.h"

#include <unistd.h>

#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <string>

namespace nbdcrypt::bench {

// proc(5), /proc/PID/stat: the program's name stands in parentheses and may hold anything; utime and stime are the 12th
// and 13th field behind it.
double cpu_seconds_of(pid_t pid) {
  const std::string path = "/proc/" + std::to_string(pid) + "/stat";
  std::ifstream file(path);
  const std::string stat{std::istreambuf_iterator<char>(file), {}};
  if (stat.empty()) throw std::runtime_error(path + ": the process has ended");
  std::istringstream fields(stat.substr(stat.rfind(')') + 1));
  std::string skipped;
  for (int i = 0; i < 11; ++i) fields >> skipped;
  double user_ticks = 0, system_ticks = 0;
  fields >> user_ticks >> system_ticks;
  return (user_ticks + system_ticks) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

}  // namespace nbdcrypt::bench
