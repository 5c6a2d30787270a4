// SPDX-License-Identifier: Apache-2.0
//
// nbdcrypt open IMAGE NAME: unlocks once, starts a server in the background, attaches it.
#include <fmt/format.h>

#include "base/error.h"
#include "cli/opening.h"
#include "cli/teardown.h"
#include "cli/volume_options.h"

namespace nbdcrypt::cli {
namespace {

void add_open_options(po::options_description& options) {
  add_volume_options(options);
  add_attach_options(options);
  add_runtime_options(options);
  options.add_options()("test-passphrase", po::bool_switch(),
                        "only say whether the passphrase or key opens a key slot; needs no NAME");
}

int test_only(const Arguments& arguments, const std::string& image) {
  const int slot = test_passphrase(arguments, volume_options(arguments, image));
  if (arguments.flag("verbose") && slot >= 0) fmt::print("key slot {} unlocked\n", slot);
  return 0;
}

int open_volume_as(const Arguments& arguments, const std::string& image, const std::string& name) {
  const AttachChoice choice = attach_choice(arguments);
  const volume::OpenOptions options = absolute_options(arguments, image);
  const RuntimeDir runtime = RuntimeDir::choose(arguments);
  clean_stale(runtime);
  refuse_if_open(runtime, name);
  refuse_if_served(runtime, options);
  Opening opening(runtime, name, options, unlock_volume(arguments, options));
  attach(opening.entry(), opening.state(), choice);
  Interrupts::check();
  opening.keep();
  fmt::print("{}", opening.whereabouts());
  return 0;
}

int run_open(const Arguments& arguments) {
  const std::string& image = arguments.positional[0];
  if (arguments.flag("test-passphrase")) {
    if (arguments.positional.size() > 1) throw base::Error(base::Kind::usage, "--test-passphrase: takes no NAME");
    return test_only(arguments, image);
  }
  if (arguments.positional.size() < 2) throw base::Error(base::Kind::usage, "open: NAME is missing");
  return open_volume_as(arguments, image, arguments.positional[1]);
}

int run_create(const Arguments& arguments) {
  return open_volume_as(arguments, arguments.positional[1], arguments.positional[0]);
}

}  // namespace

Command open_command() {
  return {.name = "open",
          .aliases = {"luksOpen", "plainOpen"},
          .synopsis = "IMAGE NAME",
          .summary = "unlock a volume, serve it over NBD and attach it",
          .min_positional = 1,
          .max_positional = 2,
          .add_options = add_open_options,
          .run = run_open};
}

Command create_command() {
  return {.name = "create",
          .aliases = {},
          .synopsis = "NAME IMAGE",
          .summary = "as open --type plain IMAGE NAME",
          .min_positional = 2,
          .max_positional = 2,
          .add_options = add_open_options,
          .run = run_create};
}

}  // namespace nbdcrypt::cli
