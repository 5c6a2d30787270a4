// SPDX-License-Identifier: Apache-2.0
#include "bench/tables/machine.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "bench/tables/timing.h"

namespace nbdcrypt::bench {
namespace {

// "model name" on x86, "cpu" on POWER, "Processor" or nothing on ARM.
std::string processor_name() {
  std::ifstream cpuinfo("/proc/cpuinfo");
  for (std::string line; std::getline(cpuinfo, line);) {
    const std::size_t colon = line.find(": ");
    if (colon == std::string::npos) continue;
    if (line.starts_with("model name") || line.starts_with("cpu\t") || line.starts_with("Processor")) {
      return line.substr(colon + 2);
    }
  }
  return "unknown";
}

}  // namespace

Row this_machine() {
  utsname system{};
  uname(&system);
  double load[1] = {0};
  getloadavg(load, 1);
  const char* masked = std::getenv("NBDCRYPT_DISABLE_CPU");
  Row row;
  row.set("processor", processor_name());
  row.set("processors", static_cast<std::int64_t>(sysconf(_SC_NPROCESSORS_ONLN)));
  row.set("machine", system.machine).set("kernel", system.release).set("compiler", "g++ " __VERSION__);
  row.set("disabled_features", masked ? masked : "").set("load_before", load[0]);
  row.set("clock_mhz", core_clock_hz() / 1e6);
  // What TCG calls -cpu max; with KVM that is the name of the real processor.
  if (processor_name().starts_with("QEMU TCG")) row.set("emulated_by", "QEMU TCG");
  return row;
}

bool is_emulated(const Row& machine) { return machine.find("emulated_by") != nullptr; }

}  // namespace nbdcrypt::bench
