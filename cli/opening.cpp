// SPDX-License-Identifier: Apache-2.0
#include "cli/opening.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <filesystem>

#include "base/error.h"
#include "cli/client.h"
#include "cli/server.h"
#include "cli/teardown.h"
#include "cli/volume_options.h"
#include "volume/image_lock.h"

namespace nbdcrypt::cli {
namespace {

using base::Error;
using base::Kind;

bool same_file(const std::string& a, const std::string& b) {
  struct stat one, other;
  return stat(a.c_str(), &one) == 0 && stat(b.c_str(), &other) == 0 && one.st_dev == other.st_dev &&
         one.st_ino == other.st_ino;
}

// "disk.img", else "disk.img-2", ...
std::string free_name_after(const RuntimeDir& runtime, const std::string& image) {
  std::string stem = std::filesystem::path(image).filename().string().substr(0, 100);
  for (char& c : stem) {
    if (c == ',' || c == '\\' || static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '_';
  }
  if (stem.empty() || stem.front() == '.') stem = fmt::format("_{}", stem);
  std::string name = stem;
  for (int n = 2; glance(runtime, name); ++n) name = stem + "-" + std::to_string(n);
  return name;
}

}  // namespace

void add_attach_options(po::options_description& options) {
  options.add_options()(
      "attach", po::value<std::string>()->value_name("HOW"),
      "auto (default): nbd, else fuse, else none; nbd: /dev/nbdN; fuse: a file; none: only the NBD URI");
}

AttachChoice attach_choice(const Arguments& arguments) {
  return parse_attach_choice(arguments.get_or<std::string>("attach", "auto"));
}

volume::OpenOptions absolute_options(const Arguments& arguments, const std::string& image) {
  volume::OpenOptions options = volume_options(arguments, image);
  options.image = std::filesystem::absolute(options.image);
  if (options.header) options.header = std::filesystem::absolute(*options.header);
  return options;
}

void refuse_if_open(const RuntimeDir& runtime, const std::string& name) {
  check_entry_name(runtime, name);
  const auto seen = glance(runtime, name);
  if (!seen || !seen->serving) return;
  throw Error(Kind::busy,
              seen->state ? fmt::format("{}: already open ({})", name, seen->state->image) : name + ": already open");
}

void refuse_if_locked(const volume::OpenOptions& options) {
  const auto mode = options.read_only ? volume::LockMode::shared_read : volume::LockMode::exclusive_write;
  const volume::FileDescriptor image = volume::open_image(options.image, volume::Access::read_only);
  volume::check_image_unlocked(image.get(), options.image, mode);
}

void refuse_if_served(const RuntimeDir& runtime, const volume::OpenOptions& options) {
  try {
    refuse_if_locked(options);
  } catch (const Error& error) {
    if (error.kind() != Kind::busy) throw;
    for (const std::string& name : runtime.names()) {
      const auto seen = glance_if_sound(runtime, name);
      if (seen && seen->serving && seen->state && same_file(seen->state->image, options.image)) {
        throw Error(Kind::busy, options.image + ": already open as " + name);
      }
    }
    throw;
  }
}

void add_name_option(po::options_description& options) {
  options.add_options()("name", po::value<std::string>()->value_name("NAME"),
                        "name of the open volume (default: after the image)");
}

std::string name_to_take(const Arguments& arguments, const RuntimeDir& runtime, const volume::OpenOptions& options) {
  if (!arguments.has("name")) return free_name_after(runtime, options.image);
  const auto& name = arguments.get<std::string>("name");
  check_name(name);
  return name;
}

Entry make_free_entry(const RuntimeDir& runtime, const std::string& name) {
  Entry entry = Entry::make(runtime, name);
  if (entry.lives(Role::server)) throw Error(Kind::busy, name + ": already open");
  if (!entry.state()) return entry;
  force_down(entry);
  return Entry::make(runtime, name);
}

Opening::Opening(const RuntimeDir& runtime, const std::string& name, const volume::OpenOptions& options,
                 const volume::Unlocked& unlocked)
    : entry_(make_free_entry(runtime, name)), state_(describe(name, options, unlocked)) {
  try {
    state_.uri = unix_uri(entry_.path(kSocketFile));
    entry_.write(state_);
    state_.server_pid = start_server(entry_, options, unlocked);
    const Export served = ask_server(state_.uri);
    state_.size_bytes = served.bytes;
    state_.read_only = served.read_only;
    entry_.write(state_);
    Interrupts::check();
  } catch (...) {
    force_down(entry_);  // the destructor of a half-built object does not run
    throw;
  }
}

Opening::~Opening() {
  if (!kept_) force_down(entry_);
}

std::string Opening::whereabouts() const {
  std::string text = "uri: " + state_.uri + "\n";
  if (state_.attachment != Attachment::none) text += "path: " + entry_.path(kDeviceFile) + "\n";
  return text;
}

}  // namespace nbdcrypt::cli
