// SPDX-License-Identifier: Apache-2.0
//
// What a header says, for people and for programs.
#include <nlohmann/json.hpp>

#include "volume/header_loaded.h"

namespace nbdcrypt::volume {
namespace {

using base::Kind;
using nlohmann::ordered_json;

// The library knows the header by its copy's path; people by the one they gave.
std::string with_real_name(std::string text, const Header::Loaded& header) {
  const std::string copy = header.copy.path();
  for (std::size_t at = 0; (at = text.find(copy, at)) != text.npos; at += header.name.size())
    text.replace(at, copy.size(), header.name);
  return text;
}

std::string luks1_cipher(crypt_device* device) {
  return std::string(crypt_get_cipher(device)) + "-" + crypt_get_cipher_mode(device);
}

ordered_json luks1_keyslot(crypt_device* device, int slot) {
  crypt_pbkdf_type pbkdf = {};
  crypt_keyslot_get_pbkdf(device, slot, &pbkdf);
  std::uint64_t offset = 0, bytes = 0;
  crypt_keyslot_area(device, slot, &offset, &bytes);
  std::size_t key_bytes = 0;
  const char* encryption = crypt_keyslot_get_encryption(device, slot, &key_bytes);
  return {
      {"type", "luks1"},
      {"key_size", crypt_keyslot_get_key_size(device, slot)},
      {"kdf", {{"type", CRYPT_KDF_PBKDF2}, {"hash", pbkdf.hash ? pbkdf.hash : ""}, {"iterations", pbkdf.iterations}}},
      {"af", {{"type", "luks1"}, {"hash", pbkdf.hash ? pbkdf.hash : ""}, {"stripes", 4000}}},
      {"area",
       {{"type", "raw"},
        {"encryption", encryption ? encryption : luks1_cipher(device)},
        {"key_size", key_bytes},
        {"offset", std::to_string(offset)},
        {"size", std::to_string(bytes)}}}};
}

ordered_json luks1_metadata(crypt_device* device) {
  ordered_json keyslots = ordered_json::object(), slots = ordered_json::array();
  for (int slot = 0; slot < crypt_keyslot_max(CRYPT_LUKS1); ++slot) {
    const crypt_keyslot_info status = crypt_keyslot_status(device, slot);
    if (status != CRYPT_SLOT_ACTIVE && status != CRYPT_SLOT_ACTIVE_LAST) continue;
    keyslots[std::to_string(slot)] = luks1_keyslot(device, slot);
    slots.push_back(std::to_string(slot));
  }
  const crypt_pbkdf_type* pbkdf = crypt_get_pbkdf_type(device);  // after a load, its hash is the header's
  const ordered_json segment = {{"type", "crypt"},
                                {"offset", std::to_string(crypt_get_data_offset(device) * 512)},
                                {"iv_tweak", "0"},
                                {"size", "dynamic"},
                                {"encryption", luks1_cipher(device)},
                                {"sector_size", 512}};
  return {{"keyslots", keyslots},
          {"tokens", ordered_json::object()},
          {"segments", {{"0", segment}}},
          {"digests",
           {{"0",
             {{"type", CRYPT_KDF_PBKDF2},
              {"keyslots", slots},
              {"segments", ordered_json::array({"0"})},
              {"hash", pbkdf && pbkdf->hash ? pbkdf->hash : ""}}}}},
          {"config", ordered_json::object()}};
}

}  // namespace

std::string Header::dump_text() const {
  loaded_->library.log().clear();
  const int result = crypt_dump(loaded_->device());
  if (result < 0) loaded_->library.fail(Kind::format, loaded_->name + ": dump", result);
  return with_real_name(loaded_->library.log().text(), *loaded_);
}

std::string Header::dump_json() const {
  if (loaded_->type == Type::luks1) return luks1_metadata(loaded_->device()).dump(2) + "\n";
  const char* text = nullptr;
  const int result = crypt_dump_json(loaded_->device(), &text, 0);
  if (result < 0 || !text) loaded_->library.fail(Kind::format, loaded_->name + ": dump", result);
  return std::string(text) + "\n";
}

}  // namespace nbdcrypt::volume
