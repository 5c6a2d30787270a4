// SPDX-License-Identifier: Apache-2.0
#include "cli/attach_dm.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <exception>
#include <system_error>

#include "base/error.h"
#include "cli/process.h"

namespace nbdcrypt::cli {
namespace {

using base::Error;
using base::Kind;

constexpr const char* kControl = "/dev/mapper/control";

std::string mapping_of(const State& state) { return "nbdcrypt-" + state.name; }

Outcome cryptsetup(std::vector<std::string> words) {
  words.insert(words.begin(), "cryptsetup");
  return run({.argv = std::move(words), .own_session = true, .interruptible = false});
}

bool exists(const State& state) { return access(state.device.c_str(), F_OK) == 0; }

}  // namespace

std::string dm_is_missing() {
  if (geteuid() != 0) return "dm-crypt: only for root";
  // The file may be there without a driver behind it.
  const volume::FileDescriptor control(::open(kControl, O_RDWR | O_CLOEXEC));
  if (!control) return std::string(kControl) + ": " + std::system_category().message(errno);
  if (find_program("cryptsetup").empty()) return "cryptsetup: no such program";
  return {};
}

void attach_dm(const Entry& entry, State& state, const std::string& key_file) {
  state.attachment = Attachment::dm;
  state.device = "/dev/mapper/" + mapping_of(state);
  entry.write(state);  // before it is done, so that it is undone however this ends
  const Outcome outcome =
      cryptsetup({"open", "--type", "plain", "--cipher", state.cipher, "--key-size", std::to_string(state.key_bits),
                  "--hash", "plain", "--key-file", key_file, "--keyfile-size", std::to_string(state.key_bits / 8),
                  "--sector-size", std::to_string(state.sector_bytes), state.image, mapping_of(state)});
  if (!outcome.ok()) throw Error(Kind::io, "dm-crypt: " + outcome.complaint_of("cryptsetup"));
  entry.make_link(kDeviceFile, state.device);
}

void detach_dm(const State& state) {
  if (!exists(state)) return;
  const Outcome outcome = cryptsetup({"close", mapping_of(state)});
  if (!outcome.ok()) throw Error(Kind::busy, state.name + ": " + outcome.complaint_of("cryptsetup"));
}

void force_detach_dm(const State& state) noexcept {
  try {
    if (!exists(state) || cryptsetup({"close", mapping_of(state)}).ok()) return;
    cryptsetup({"close", "--deferred", mapping_of(state)});
  } catch (const std::exception&) {  // nothing more can be done
  }
}

}  // namespace nbdcrypt::cli
