// SPDX-License-Identifier: Apache-2.0
//
// nbdcrypt umount DIR: the way back from nbdcrypt mount.
#include <filesystem>

#include "base/error.h"
#include "cli/attach.h"
#include "cli/filesystem.h"
#include "cli/teardown.h"

namespace nbdcrypt::cli {
namespace {

using base::Error;
using base::Kind;

// Without looking at DIR itself: the file system on it may have lost its server.
std::string mount_point_named(const std::string& named) {
  std::filesystem::path path = std::filesystem::absolute(named).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();
  std::error_code ignored;
  const std::filesystem::path parent = std::filesystem::canonical(path.parent_path(), ignored);
  return parent.empty() ? path : parent / path.filename();
}

std::string name_mounted_on(const RuntimeDir& runtime, const std::string& directory, const std::string& named) {
  for (const std::string& name : runtime.names()) {
    const auto seen = glance_if_sound(runtime, name);
    if (seen && seen->state && !seen->held && seen->state->mount_point == directory) return name;
  }
  throw Error(Kind::device, named + ": not mounted by nbdcrypt");
}

int run_umount(const Arguments& arguments) {
  const std::string& named = arguments.positional[0];
  const RuntimeDir runtime = RuntimeDir::choose(arguments);
  const std::string name = name_mounted_on(runtime, mount_point_named(named), named);
  if (clean_if_stale(runtime, name)) return 0;
  Entry entry = Entry::find(runtime, name);
  const State state = entry.state().value_or(State{});
  const std::string device = device_of(entry, state);
  for (const Mount& mount : mounts_from(device)) {
    if (mount.target == state.mount_point) unmount(entry, mount);
  }
  if (mounts_from(device).empty()) {
    for (const std::string& loop : loops_over(device)) detach_loop(loop);
  }
  refuse_if_used(entry, state);
  take_down(entry, state);
  return 0;
}

}  // namespace

Command umount_command() {
  return {.name = "umount",
          .aliases = {},
          .synopsis = "DIR",
          .summary = "unmount what `mount` mounted and close the volume",
          .min_positional = 1,
          .max_positional = 1,
          .add_options = add_runtime_options,
          .run = run_umount};
}

}  // namespace nbdcrypt::cli
