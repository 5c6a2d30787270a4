// SPDX-License-Identifier: Apache-2.0
#include "cli/attach.h"

#include <unistd.h>

#include <iostream>
#include <thread>

#include "base/error.h"
#include "cli/attach_dm.h"
#include "cli/attach_fuse.h"
#include "cli/attach_nbd.h"
#include "cli/client.h"

namespace nbdcrypt::cli {
namespace {

using base::Error;
using base::Kind;
using namespace std::chrono_literals;

constexpr const char* kHowToGetThere =
    "FUSE needs /dev/fuse open to you (chmod 0666 /dev/fuse as root) and the programs nbdfuse and fusermount3; "
    "root may load the kernel's nbd module instead";

void refuse_if_missing(const std::string& missing) {
  if (!missing.empty()) throw Error(Kind::device, missing, 0, kHowToGetThere);
}

void attach_automatically(const Entry& entry, State& state) {
  if (nbd_is_missing().empty()) return attach_nbd(entry, state);
  const std::string missing = fuse_is_missing();
  if (missing.empty()) return attach_fuse(entry, state);
  std::cerr << "nbdcrypt: not attached, only served: " << missing << "\n";
}

void attach_by(AttachChoice choice, const Entry& entry, State& state) {
  switch (choice) {
    case AttachChoice::automatic:
      return attach_automatically(entry, state);
    case AttachChoice::nbd:
      refuse_if_missing(nbd_is_missing());
      return attach_nbd(entry, state);
    case AttachChoice::fuse:
      refuse_if_missing(fuse_is_missing());
      return attach_fuse(entry, state);
    case AttachChoice::none:
      return;
  }
}

// Our own connection, just closed, must not be counted among those of the attachment.
void wait_for_no_connections(const std::string& socket) {
  for (int tries = 0; tries < 100 && connections_to(socket) != 0; ++tries) std::this_thread::sleep_for(10ms);
}

}  // namespace

AttachChoice parse_attach_choice(const std::string& word) {
  if (word == "auto") return AttachChoice::automatic;
  if (word == "nbd") return AttachChoice::nbd;
  if (word == "fuse") return AttachChoice::fuse;
  if (word == "none") return AttachChoice::none;
  throw Error(Kind::usage, "--attach " + word + ": expected auto, nbd, fuse or none");
}

void require_attachable(AttachChoice choice) {
  if (choice == AttachChoice::none) throw Error(Kind::usage, "--attach none: there would be nothing to mount");
  const std::string nbd = choice == AttachChoice::fuse ? "--attach fuse" : nbd_is_missing();
  const std::string fuse = choice == AttachChoice::nbd ? "--attach nbd" : fuse_is_missing();
  if (nbd.empty() || fuse.empty()) return;
  throw Error(Kind::device, choice == AttachChoice::nbd ? nbd : fuse, 0, kHowToGetThere);
}

void attach(const Entry& entry, State& state, AttachChoice choice) {
  wait_for_no_connections(entry.path(kSocketFile));
  attach_by(choice, entry, state);
  if (state.attachment == Attachment::none) return;
  state.own_connections = connections_to(entry.path(kSocketFile));
  entry.write(state);
}

void detach(const Entry& entry, const State& state) {
  if (state.attachment == Attachment::nbd) detach_nbd(state);
  if (state.attachment == Attachment::fuse) detach_fuse(entry);
  if (state.attachment == Attachment::dm) detach_dm(state);
}

void force_detach(const Entry& entry, const State& state) noexcept {
  if (state.attachment == Attachment::nbd) force_detach_nbd(state);
  if (state.attachment == Attachment::fuse) force_detach_fuse(entry);
  if (state.attachment == Attachment::dm) force_detach_dm(state);
}

std::string device_of(const Entry& entry, const State& state) {
  return is_block_device(state.attachment) ? state.device : entry.path(kDeviceFile);
}

}  // namespace nbdcrypt::cli
