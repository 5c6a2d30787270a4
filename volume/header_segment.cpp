// SPDX-License-Identifier: Apache-2.0
//
// From a header's metadata to the data segment. The library has no getters for LUKS2's segments, so they come from its
// JSON, which it has validated: types and ranges are right, and what is left to find out is whether it is something we
// serve. Source: LUKS2 On-Disk Format 1.1.1, section 3 (segments, config, requirements).
#include <bit>
#include <charconv>
#include <nlohmann/json.hpp>

#include "volume/essiv_key.h"
#include "volume/header_loaded.h"

namespace nbdcrypt::volume {
namespace {

using base::Error;
using base::Kind;
using nlohmann::json;

constexpr std::uint64_t kUnitBytes = 512;

json metadata_of(const Header::Loaded& header) {
  const char* text = nullptr;
  const int result = crypt_dump_json(header.device(), &text, 0);
  if (result < 0 || !text) header.library.fail(Kind::format, header.name + ": the metadata as JSON", result);
  return json::parse(text);
}

[[noreturn]] void refuse(const Header::Loaded& header, const std::string& why, std::string hint = {}) {
  throw Error(Kind::unsupported, header.name + ": " + why, 0, std::move(hint));
}

[[noreturn]] void damaged(const Header::Loaded& header, const std::string& why) {
  throw Error(Kind::format, header.name + ": " + why);
}

/// LUKS2 writes 64-bit numbers as decimal strings.
std::uint64_t number(const Header::Loaded& header, const json& object, const char* key) {
  const std::string text = object.value(key, std::string());
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size())
    damaged(header, "segment: " + std::string(key) + " is \"" + text + "\", expected a number");
  return value;
}

/// Names the first requirement. Reencryption is one: header and data are between two states.
void refuse_requirements(const Header::Loaded& header, const json& metadata) {
  const json none = json::array();
  const json& mandatory = metadata.at("config").value("requirements", json::object()).value("mandatory", none);
  for (const json& entry : mandatory) {
    const std::string name = entry.get<std::string>();
    if (name.find("reencrypt") != name.npos)
      refuse(header, "reencryption is in progress (" + name + ")", "finish it with cryptsetup reencrypt --resume-only");
    refuse(header, "the header requires " + name + ", which is not supported");
  }
  std::uint32_t flags = 0;
  if (crypt_persistent_flags_get(header.device(), CRYPT_FLAGS_REQUIREMENTS, &flags) < 0 || flags != 0)
    refuse(header, "the header has requirements that are not supported");
}

/// The one segment there may be. Flags (backup-previous, backup-final, in-reencryption) belong to reencryption.
const json& only_segment(const Header::Loaded& header, const json& metadata) {
  const json& segments = metadata.at("segments");
  for (const auto& [key, segment] : segments.items()) {
    const std::string type = segment.value("type", std::string());
    if (segment.contains("flags") && !segment["flags"].empty())
      refuse(header, "segment " + key + ": flag " + segment["flags"][0].get<std::string>() + " is not supported");
    if (type != "crypt") refuse(header, "segment " + key + ": type " + type + " is not supported, expected crypt");
    if (segment.contains("integrity"))
      refuse(header, "segment " + key + ": integrity " + segment["integrity"].value("type", std::string("?")) +
                         " is not supported");
  }
  if (segments.size() != 1)
    refuse(header, std::to_string(segments.size()) + " data segments are not supported, expected 1");
  return *segments.begin();
}

/// Where a segment says that its data lies.
struct Place {
  std::uint64_t offset;
  std::optional<std::uint64_t> bytes;  // nothing: to the end
};

std::uint64_t checked_bytes(const Header::Loaded& header, const Place& place, std::uint32_t sector_bytes,
                            std::uint64_t store_bytes) {
  if (place.offset == 0 && !header.detached)
    throw Error(Kind::usage, header.name + ": a detached header, the data is elsewhere", 0,
                "give the data's image, and this file as --header");
  const std::string begins = "the data begins at byte " + std::to_string(place.offset);
  const std::string ends = "the image has " + std::to_string(store_bytes);
  if (place.offset >= store_bytes) damaged(header, begins + ", " + ends + " bytes");
  const std::uint64_t room = store_bytes - place.offset;
  if (place.bytes && *place.bytes > room)
    damaged(header, begins + " and has " + std::to_string(*place.bytes) + " bytes, " + ends);
  // What is left of an image that does not end with a whole sector belongs to nobody.
  const std::uint64_t bytes = place.bytes.value_or(room) / sector_bytes * sector_bytes;
  if (bytes == 0) damaged(header, begins + ", " + ends + ": no room for a sector");
  return bytes;
}

modes::CipherSpec cipher_of(const Header::Loaded& header, const std::string& text) {
  modes::CipherSpec cipher = modes::parse_cipher_spec(text);
  const int key_bytes = crypt_get_volume_key_size(header.device());  // 0: no key slots, the key itself will tell
  if (key_bytes > 0) check_luks_key(header.name, cipher, static_cast<std::size_t>(key_bytes));
  return cipher;
}

Segment luks2_segment(const Header::Loaded& header, std::uint64_t store_bytes) {
  const json metadata = metadata_of(header);
  refuse_requirements(header, metadata);
  const json& found = only_segment(header, metadata);
  const auto sector_bytes = found.at("sector_size").get<std::uint32_t>();
  if (!std::has_single_bit(sector_bytes) || sector_bytes < 512 || sector_bytes > kMaxSectorBytes)
    refuse(header, "sectors of " + std::to_string(sector_bytes) + " bytes are not supported");
  const std::uint64_t first_iv = number(header, found, "iv_tweak");
  if (first_iv % (sector_bytes / kUnitBytes) != 0)
    damaged(header, "iv_tweak " + std::to_string(first_iv) + " is not a whole number of " +
                        std::to_string(sector_bytes) + "-byte sectors");

  Place place{.offset = number(header, found, "offset"), .bytes = {}};
  if (found.at("size") != "dynamic") place.bytes = number(header, found, "size");
  return {.volume_offset = 0,
          .store_offset = place.offset,
          .bytes = checked_bytes(header, place, sector_bytes, store_bytes),
          .cipher = cipher_of(header, found.at("encryption").get<std::string>()),
          .layout = {.sector_bytes = sector_bytes, .first_iv = first_iv, .iv_large_sectors = false}};
}

Segment luks1_segment(const Header::Loaded& header, std::uint64_t store_bytes) {
  const std::string cipher =
      std::string(crypt_get_cipher(header.device())) + "-" + crypt_get_cipher_mode(header.device());
  const Place place{.offset = crypt_get_data_offset(header.device()) * kUnitBytes, .bytes = {}};
  return {.volume_offset = 0,
          .store_offset = place.offset,
          .bytes = checked_bytes(header, place, kUnitBytes, store_bytes),
          .cipher = cipher_of(header, cipher),
          .layout = {.sector_bytes = kUnitBytes, .first_iv = 0, .iv_large_sectors = false}};
}

}  // namespace

void check_luks_key(const std::string& name, const modes::CipherSpec& cipher, std::size_t key_bytes) {
  modes::check_key_size(cipher, key_bytes);
  check_essiv_hash(cipher);
  if (cipher.mode == modes::Mode::xts && key_bytes == 48)
    throw Error(Kind::unsupported, name + ": " + cipher.text() + " with a 384-bit key is not supported in LUKS");
}

Segment Header::data_segment(std::uint64_t store_bytes) const {
  return loaded_->type == Type::luks1 ? luks1_segment(*loaded_, store_bytes) : luks2_segment(*loaded_, store_bytes);
}

}  // namespace nbdcrypt::volume
