// SPDX-License-Identifier: Apache-2.0
//
// nbdcrypt status [NAME]: the lines of cryptsetup status and a few more, or JSON. Works without holding the entry, also
// while another command is at work on it.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "cli/filesystem.h"
#include "cli/teardown.h"

namespace nbdcrypt::cli {
namespace {

constexpr int kInactive = base::exit_code(base::Kind::device);
constexpr std::uint64_t kSectorBytes = 512;  // offset and size count these, whatever the sector size

void add_status_options(po::options_description& options) {
  add_runtime_options(options);
  options.add_options()("json", po::bool_switch(), "print JSON");
}

struct Active {
  State state;
  std::string path;  // NAME/dev, empty when not attached
  std::vector<std::string> mounted_on;
};

std::optional<Active> look_at(const RuntimeDir& runtime, const std::string& name) {
  const auto seen = glance(runtime, name);
  if (!seen || !seen->serving || !seen->state) return {};
  Active active{*seen->state, {}, {}};
  if (active.state.attachment == Attachment::none) return active;
  active.path = runtime.path() + "/" + name + "/" + kDeviceFile;
  const std::string device = active.state.attachment == Attachment::nbd ? active.state.device : active.path;
  for (const Mount& mount : mounts_from(device)) active.mounted_on.push_back(mount.target);
  return active;
}

void print_line(const char* key, const std::string& value) {
  if (!value.empty()) fmt::print("  {:<13}{}\n", std::string(key) + ":", value);
}

void print_text(const Active& active) {
  const State& s = active.state;
  fmt::print("{} is active{}.\n", s.name, active.mounted_on.empty() ? "" : " and is in use");
  print_line("type", s.type);
  print_line("cipher", s.cipher);
  print_line("keysize", fmt::format("{} bits", s.key_bits));
  if (s.key_slot >= 0) print_line("key slot", std::to_string(s.key_slot));
  print_line("device", s.image);
  print_line("header", s.header);
  print_line("sector size", std::to_string(s.sector_bytes));
  print_line("offset", fmt::format("{} sectors", s.offset_bytes / kSectorBytes));
  print_line("size", fmt::format("{} sectors", s.size_bytes / kSectorBytes));
  print_line("mode", s.read_only ? "readonly" : "read/write");
  print_line("flags", s.allow_discards ? "discards" : "");
  print_line("uri", s.uri);
  print_line("path", active.path);
  for (const std::string& directory : active.mounted_on) print_line("mounted on", directory);
  print_line("server", fmt::format("process {}", s.server_pid));
  print_line("backend", s.backend);
}

nlohmann::json as_json(const Active& active) {
  nlohmann::json j = nlohmann::json::parse(to_json(active.state));
  for (const char* internal : {"version", "own_connections", "device_owner", "mount_point"}) j.erase(internal);
  j["path"] = active.path;
  j["mounted_on"] = active.mounted_on;
  return j;
}

int report_one(const RuntimeDir& runtime, const std::string& name, bool json) {
  const auto active = look_at(runtime, name);
  if (!active) {
    if (json)
      fmt::print("null\n");
    else
      fmt::print("{} is inactive.\n", name);
    return kInactive;
  }
  if (json)
    fmt::print("{}\n", as_json(*active).dump(2));
  else
    print_text(*active);
  return 0;
}

// One that is damaged, or not ours, must not hide the others.
std::vector<Active> all_active(const RuntimeDir& runtime) {
  std::vector<Active> all;
  for (const std::string& name : runtime.names()) {
    try {
      if (auto active = look_at(runtime, name)) all.push_back(std::move(*active));
    } catch (const base::Error& error) { fmt::print(stderr, "nbdcrypt: {}\n", error.what()); }
  }
  return all;
}

int report_all(const RuntimeDir& runtime, bool json) {
  nlohmann::json array = nlohmann::json::array();
  for (const Active& active : all_active(runtime)) {
    if (json)
      array.push_back(as_json(active));
    else
      print_text(active);
  }
  if (json) fmt::print("{}\n", array.dump(2));
  return 0;
}

int run_status(const Arguments& arguments) {
  const RuntimeDir runtime = RuntimeDir::choose(arguments);
  clean_stale(runtime);
  const bool json = arguments.flag("json");
  return arguments.positional.empty() ? report_all(runtime, json) : report_one(runtime, arguments.positional[0], json);
}

}  // namespace

Command status_command() {
  return {.name = "status",
          .aliases = {},
          .synopsis = "[NAME]",
          .summary = "say what is open, and how",
          .min_positional = 0,
          .max_positional = 1,
          .add_options = add_status_options,
          .run = run_status};
}

}  // namespace nbdcrypt::cli
