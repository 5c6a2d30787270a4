// SPDX-License-Identifier: Apache-2.0
//
// nbdcrypt mount IMAGE DIR: open, attach and mount in one step; nothing is left when any of it fails.
#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>

#include "base/error.h"
#include "cli/filesystem.h"
#include "cli/opening.h"
#include "cli/teardown.h"
#include "cli/volume_options.h"

namespace nbdcrypt::cli {
namespace {

using base::Error;
using base::Kind;

void add_mount_options(po::options_description& options) {
  add_volume_options(options);
  add_attach_options(options);
  add_runtime_options(options);
  add_name_option(options);
  options.add_options()                                                                                         //
      ("fstype", po::value<std::string>()->value_name("TYPE"), "of the file system (default: as found)")        //
      ("options", po::value<std::string>()->value_name("LIST"), "options of the file system, as for mount -o")  //
      ("partition", po::value<std::uint32_t>()->value_name("N"), "mount this partition in the volume");
}

std::string directory_to_mount_on(const std::string& named) {
  struct stat status;
  if (stat(named.c_str(), &status) != 0) base::throw_open_error(named, errno);
  if (!S_ISDIR(status.st_mode)) throw Error(Kind::device, named + ": not a directory");
  const std::string path = std::filesystem::canonical(named);
  if (is_mount_point(path)) throw Error(Kind::busy, path + ": something is mounted there already");
  return path;
}

MountRequest mount_request(const Arguments& arguments) {
  MountRequest request{.directory = directory_to_mount_on(arguments.positional[1]),
                       .type = arguments.get_or<std::string>("fstype", ""),
                       .options = arguments.get_or<std::string>("options", ""),
                       .read_only = arguments.flag("readonly"),
                       .partition = {}};
  if (arguments.has("partition")) request.partition = arguments.get<std::uint32_t>("partition");
  return request;
}

int run_mount(const Arguments& arguments) {
  const AttachChoice choice = attach_choice(arguments);
  const volume::OpenOptions options = absolute_options(arguments, arguments.positional[0]);
  const MountRequest request = mount_request(arguments);
  require_attachable(choice);
  const RuntimeDir runtime = RuntimeDir::choose(arguments);
  clean_stale(runtime);
  const std::string name = name_to_take(arguments, runtime, options);
  refuse_if_open(runtime, name);
  refuse_if_served(runtime, options);
  Opening opening(runtime, name, options, unlock_volume(arguments, options));
  attach(opening.entry(), opening.state(), choice);
  mount_inside(opening.entry(), opening.state(), request);
  Interrupts::check();
  opening.keep();
  fmt::print("{}mounted: {}\n", opening.whereabouts(), request.directory);
  return 0;
}

}  // namespace

Command mount_command() {
  return {.name = "mount",
          .aliases = {},
          .synopsis = "IMAGE DIR",
          .summary = "open a volume and mount the file system in it",
          .min_positional = 2,
          .max_positional = 2,
          .add_options = add_mount_options,
          .run = run_mount};
}

}  // namespace nbdcrypt::cli
