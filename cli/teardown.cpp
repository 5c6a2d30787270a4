// SPDX-License-Identifier: Apache-2.0
#include "cli/teardown.h"

#include <exception>
#include <iostream>
#include <thread>

#include "base/error.h"
#include "cli/attach.h"
#include "cli/client.h"
#include "cli/filesystem.h"
#include "cli/server.h"

namespace nbdcrypt::cli {
namespace {

using base::Error;
using base::Kind;
using namespace std::chrono_literals;

constexpr auto kOrderlyPatience = 60s;  // nobody is connected any more
constexpr auto kForcedPatience = 5s;

// A client that has just gone may still be counted for a moment.
bool has_clients(const Entry& entry, const State& state) {
  for (int tries = 0; tries < 50; ++tries) {
    if (connections_to(entry.path(kSocketFile)) <= state.own_connections) return false;
    std::this_thread::sleep_for(20ms);
  }
  return true;
}

void force_down_filesystems(const Entry& entry, const State& state) noexcept {
  try {
    std::vector<Mount> mounts = mounts_from(device_of(entry, state));
    while (!mounts.empty()) {
      force_unmount(entry, mounts.back());  // the last one mounted may be inside another
      mounts.pop_back();
    }
    for (const std::string& loop : loops_over(device_of(entry, state))) detach_loop(loop);
  } catch (const std::exception&) {  // the rest is tried all the same
  }
}

// The state of an entry that was damaged: as much as can be guessed from the files alone.
State state_or_guess(const Entry& entry) noexcept {
  State guess;
  guess.attachment = Attachment::fuse;
  try {
    return entry.state().value_or(guess);
  } catch (const std::exception&) { return guess; }
}

}  // namespace

void refuse_if_used(const Entry& entry, const State& state) {
  for (const Mount& mount : mounts_from(device_of(entry, state))) {
    const bool by_us = mount.target == state.mount_point;
    throw Error(Kind::busy, entry.name() + ": mounted on " + mount.target, 0,
                by_us ? "nbdcrypt umount " + mount.target : "unmount it first");
  }
  for (const std::string& loop : loops_over(device_of(entry, state))) {
    throw Error(Kind::busy, entry.name() + ": in use by " + loop, 0, "losetup -d " + loop);
  }
  if (has_clients(entry, state)) throw Error(Kind::busy, entry.name() + ": an NBD client is connected");
}

void take_down(Entry& entry, const State& state) {
  detach(entry, state);
  std::string failure;
  int os_error = 0;
  try {
    if (!state.read_only) flush_server(state.uri);
  } catch (const Error& error) {
    failure = error.what();
    os_error = error.os_error();
  }
  stop_server(entry, kOrderlyPatience);
  entry.remove();
  if (!failure.empty()) {
    throw Error(Kind::io, entry.name() + ": closed, but what was written last may be lost: " + failure, os_error);
  }
}

void force_down(Entry& entry) noexcept {
  const State state = state_or_guess(entry);
  force_down_filesystems(entry, state);
  force_detach(entry, state);
  try {
    stop_server(entry, kForcedPatience);
    entry.remove();
  } catch (const std::exception&) {  // left for the next command
  }
}

bool clean_if_stale(const RuntimeDir& runtime, const std::string& name) {
  const auto seen = glance_if_sound(runtime, name);
  if (!seen || seen->serving || seen->held || !seen->state) return false;
  Entry entry = Entry::find(runtime, name);
  if (entry.lives(Role::server)) return false;  // opened anew in between
  std::cerr << "nbdcrypt: " << name << ": its server has ended; cleaned up\n";
  force_down(entry);
  return true;
}

void clean_stale(const RuntimeDir& runtime) {
  for (const std::string& name : runtime.names()) {
    try {
      clean_if_stale(runtime, name);
    } catch (const Error&) {  // another command was quicker
    }
  }
}

}  // namespace nbdcrypt::cli
