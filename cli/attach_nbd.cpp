// SPDX-License-Identifier: Apache-2.0
#include "cli/attach_nbd.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <exception>
#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "cli/process.h"

namespace nbdcrypt::cli {
namespace {

using base::Error;
using base::Kind;

std::string number_of(int n) { return "nbd" + std::to_string(n); }
bool kernel_has(int n) { return std::filesystem::exists("/sys/block/" + number_of(n)); }

// The process that connected it, as text; empty when it is not connected (Linux, drivers/block/nbd.c, pid_show). A
// device that somebody else connected after our server had ended has another one.
std::string connected_by(const std::string& device) {
  std::ifstream in("/sys/block/" + device.substr(device.rfind('/') + 1) + "/pid");
  std::string pid;
  std::getline(in, pid);
  return pid;
}

bool is_ours(const State& state) {
  const std::string pid = connected_by(state.device);
  return !pid.empty() && (state.device_owner.empty() || pid == state.device_owner);
}

Outcome nbd_client(std::vector<std::string> words) {
  words.insert(words.begin(), "nbd-client");
  return run({.argv = std::move(words), .own_session = true, .interruptible = false});
}

bool connect(const Entry& entry, State& state, std::string& reason) {
  entry.write(state);  // before it is done, so that it is undone however this ends
  std::vector<std::string> words{"-unix", entry.path(kSocketFile), state.device, "-b",
                                 std::to_string(state.sector_bytes)};
  if (state.read_only) words.emplace_back("-readonly");
  const Outcome outcome = nbd_client(std::move(words));
  if (!outcome.ok()) reason = outcome.complaint_of("nbd-client");
  return outcome.ok();
}

}  // namespace

std::string nbd_is_missing() {
  if (geteuid() != 0) return "/dev/nbdN: only for root";
  if (!kernel_has(0)) return "/dev/nbdN: the kernel's nbd module is not loaded (modprobe nbd)";
  if (find_program("nbd-client").empty()) return "nbd-client: no such program";
  return {};
}

void attach_nbd(const Entry& entry, State& state) {
  std::string reason = "all devices are in use";
  for (int n = 0; kernel_has(n); ++n) {
    state.device = "/dev/" + number_of(n);
    if (!connected_by(state.device).empty()) continue;
    state.attachment = Attachment::nbd;
    if (connect(entry, state, reason)) {
      state.device_owner = connected_by(state.device);
      entry.make_link(kDeviceFile, state.device);
      return entry.write(state);
    }
    state.attachment = Attachment::none;  // somebody was quicker, or it does not work at all
  }
  state.device.clear();
  entry.write(state);
  throw Error(Kind::io, "/dev/nbdN: " + reason);
}

void detach_nbd(const State& state) {
  if (!is_ours(state)) return;
  // An exclusive open fails while it is mounted, or held by another driver.
  const volume::FileDescriptor device(::open(state.device.c_str(), O_RDONLY | O_EXCL | O_CLOEXEC));
  if (!device && errno == EBUSY) throw Error(Kind::busy, state.name + ": " + state.device + " is in use");
  if (device) fsync(device.get());
  const Outcome outcome = nbd_client({"-d", state.device});
  if (!outcome.ok()) throw Error(Kind::io, state.device + ": " + outcome.complaint_of("nbd-client"));
}

void force_detach_nbd(const State& state) noexcept {
  try {
    if (is_ours(state)) nbd_client({"-d", state.device});
  } catch (const std::exception&) {  // nothing more can be done
  }
}

}  // namespace nbdcrypt::cli
