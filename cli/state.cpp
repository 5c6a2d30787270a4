// SPDX-License-Identifier: Apache-2.0
#include "cli/state.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "modes/backend_choice.h"

namespace nbdcrypt::cli {
namespace {

using nlohmann::json;

constexpr int kVersion = 1;

std::string type_name(volume::Type type) {
  switch (type) {
    case volume::Type::luks1:
      return "LUKS1";
    case volume::Type::luks2:
      return "LUKS2";
    default:
      return "PLAIN";
  }
}

constexpr std::pair<Attachment, const char*> kAttachments[] = {
    {Attachment::none, "none"}, {Attachment::fuse, "fuse"}, {Attachment::nbd, "nbd"}, {Attachment::dm, "dm"}};

Attachment attachment_of(const std::string& name) {
  for (const auto& [attachment, known] : kAttachments) {
    if (name == known) return attachment;
  }
  throw std::invalid_argument("attachment: " + name);
}

State parse(const json& j) {
  if (j.at("version") != kVersion) throw std::invalid_argument("version");
  State s;
  j.at("name").get_to(s.name);
  j.at("image").get_to(s.image);
  j.at("header").get_to(s.header);
  j.at("type").get_to(s.type);
  j.at("uuid").get_to(s.uuid);
  j.at("cipher").get_to(s.cipher);
  j.at("backend").get_to(s.backend);
  j.at("key_bits").get_to(s.key_bits);
  j.at("key_slot").get_to(s.key_slot);
  j.at("sector_bytes").get_to(s.sector_bytes);
  j.at("offset_bytes").get_to(s.offset_bytes);
  j.at("size_bytes").get_to(s.size_bytes);
  j.at("read_only").get_to(s.read_only);
  j.at("allow_discards").get_to(s.allow_discards);
  j.at("uri").get_to(s.uri);
  j.at("server_pid").get_to(s.server_pid);
  s.attachment = attachment_of(j.at("attachment"));
  j.at("device").get_to(s.device);
  j.at("device_owner").get_to(s.device_owner);
  j.at("own_connections").get_to(s.own_connections);
  j.at("mount_point").get_to(s.mount_point);
  return s;
}

}  // namespace

const char* attachment_name(Attachment attachment) noexcept {
  for (const auto& [known, name] : kAttachments) {
    if (attachment == known) return name;
  }
  return "";
}

State describe(const std::string& name, const volume::OpenOptions& options, const volume::Unlocked& unlocked) {
  State s;
  s.name = name;
  s.image = options.image;
  s.header = options.header.value_or("");
  s.type = type_name(unlocked.type);
  s.uuid = unlocked.uuid;
  s.cipher = unlocked.segment.cipher.text();
  s.backend = modes::choose_backend(options.backend).name;
  s.key_bits = static_cast<std::uint32_t>(unlocked.volume_key.size() * 8);
  s.key_slot = unlocked.key_slot;
  s.sector_bytes = unlocked.segment.layout.sector_bytes;
  s.offset_bytes = unlocked.segment.store_offset;
  s.size_bytes = unlocked.segment.bytes;
  s.read_only = options.read_only;
  s.allow_discards = unlocked.allow_discards;
  return s;
}

std::string to_json(const State& s) {
  return json{{"version", kVersion},
              {"name", s.name},
              {"image", s.image},
              {"header", s.header},
              {"type", s.type},
              {"uuid", s.uuid},
              {"cipher", s.cipher},
              {"backend", s.backend},
              {"key_bits", s.key_bits},
              {"key_slot", s.key_slot},
              {"sector_bytes", s.sector_bytes},
              {"offset_bytes", s.offset_bytes},
              {"size_bytes", s.size_bytes},
              {"read_only", s.read_only},
              {"allow_discards", s.allow_discards},
              {"uri", s.uri},
              {"server_pid", s.server_pid},
              {"attachment", attachment_name(s.attachment)},
              {"device", s.device},
              {"device_owner", s.device_owner},
              {"own_connections", s.own_connections},
              {"mount_point", s.mount_point}}
             .dump(2, ' ', false, json::error_handler_t::replace) +
         "\n";
}

State from_json(const std::string& text, const std::string& path) {
  try {
    return parse(json::parse(text));
  } catch (const std::exception& e) {
    throw base::Error(base::Kind::format, path + ": not a state of ours: " + e.what());
  }
}

}  // namespace nbdcrypt::cli
