// SPDX-License-Identifier: Apache-2.0
//
// nbdcrypt close NAME: detaches an open volume, makes it durable, ends its server.
#include "base/error.h"
#include "cli/teardown.h"

namespace nbdcrypt::cli {
namespace {

int run_close(const Arguments& arguments) {
  const std::string& name = arguments.positional[0];
  const RuntimeDir runtime = RuntimeDir::choose(arguments);
  if (clean_if_stale(runtime, name)) return 0;
  Entry entry = Entry::find(runtime, name);
  if (!entry.lives(Role::server)) {  // what an `open` that was killed left behind, or damaged
    force_down(entry);
    throw base::Error(base::Kind::device, name + ": not active");
  }
  const State state = entry.state().value_or(State{});
  refuse_if_used(entry, state);
  take_down(entry, state);
  return 0;
}

}  // namespace

Command close_command() {
  return {.name = "close",
          .aliases = {"luksClose", "plainClose", "remove"},
          .synopsis = "NAME",
          .summary = "detach an open volume and end its server",
          .min_positional = 1,
          .max_positional = 1,
          .add_options = add_runtime_options,
          .run = run_close};
}

}  // namespace nbdcrypt::cli
