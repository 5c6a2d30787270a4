// SPDX-License-Identifier: Apache-2.0
//
// Loading and unlocking. The library guards what it activates, and we activate nothing: it gives the key of an unbound
// slot, and that of a volume with requirements nobody knows. So every key is verified against the digest of the data
// segment here, and header_segment.cpp refuses the rest.
#include "volume/header.h"

#include <malloc.h>

#include <algorithm>

#include "volume/header_loaded.h"

namespace nbdcrypt::volume {
namespace {

using base::Error;
using base::Kind;

constexpr std::uint64_t kMaxKeyAreaBytes = 128 << 20;  // the largest key slots area of LUKS2
constexpr std::size_t kKeyRoomBytes = 4096;            // more than any volume key; unbound slots may hold other things

/// What the device may be instead of LUKS, for people.
std::string hint_for(const std::string& path) {
  std::string found;
  try {
    for (const std::string& text : signatures_on(path))
      found.append(found.empty() ? "there is a " : " and a ").append(text);
  } catch (const Error&) {
    // a hint only: what matters has been said
  }
  return found.empty() ? "a plain volume has no header: it needs --type plain" : found;
}

void check_type(const std::string& name, Magic magic, Type wanted) {
  if (magic == Magic::none) throw Error(Kind::format, name + ": not a LUKS volume", 0, hint_for(name));
  if (wanted == Type::luks1 && magic != Magic::luks1) throw Error(Kind::format, name + ": a LUKS2 volume, not LUKS1");
  if (wanted == Type::luks2 && magic == Magic::luks1) throw Error(Kind::format, name + ": a LUKS1 volume, not LUKS2");
}

/// LUKS2 keeps two copies. One may stand in for the other as long as nothing else has moved in: an LVM volume over what
/// is left of an old header is an LVM volume.
void refuse_recovery_over_others(const std::string& name) {
  const std::vector<std::string> others = foreign_signatures_on(name);
  if (others.empty()) return;
  throw Error(Kind::format,
              name + ": one copy of the LUKS2 header is damaged, and the device holds a " + others.front(), 0,
              "if it really is a LUKS2 volume: cryptsetup repair");
}

const char* library_type(Type type) {
  switch (type) {
    case Type::luks1:
      return CRYPT_LUKS1;
    case Type::luks2:
      return CRYPT_LUKS2;
    default:
      return CRYPT_LUKS;
  }
}

void load_library(Header::Loaded& header, Type wanted) {
  const DebugMessages explain_damage;
  const int result = crypt_load(header.device(), library_type(wanted), nullptr);
  if (result < 0) header.library.fail(Kind::format, header.name + ": damaged LUKS header", result);
  header.type = std::string_view(crypt_get_type(header.device())) == CRYPT_LUKS1 ? Type::luks1 : Type::luks2;
  header.library.log().clear();
}

/// Did the library mend one of the two copies (in our copy of them)?
bool was_mended(const Header::Loaded& header, int device) {
  std::uint64_t metadata_bytes = 0;
  if (header.type != Type::luks2 || crypt_get_metadata_size(header.device(), &metadata_bytes, nullptr) < 0)
    return false;
  return !header.copy.equals(device, header.name, 0, 2 * metadata_bytes);
}

bool in_use(crypt_keyslot_info status) {
  return status == CRYPT_SLOT_ACTIVE || status == CRYPT_SLOT_ACTIVE_LAST || status == CRYPT_SLOT_UNBOUND;
}

int slots_of(const Header::Loaded& header) { return crypt_keyslot_max(crypt_get_type(header.device())); }

void fetch_key_areas(Header::Loaded& header, int device) {
  for (int slot = 0; slot < slots_of(header); ++slot) {
    std::uint64_t offset = 0, bytes = 0;
    if (!in_use(crypt_keyslot_status(header.device(), slot))) continue;
    if (crypt_keyslot_area(header.device(), slot, &offset, &bytes) < 0) continue;
    if (bytes > kMaxKeyAreaBytes)
      throw Error(Kind::format, header.name + ": key slot " + std::to_string(slot) + ": an area of " +
                                    std::to_string(bytes) + " bytes");
    header.copy.fetch(device, header.name, offset, bytes);
  }
}

std::string slot_text(const Header::Loaded& header, int slot) {
  return header.name + ": key slot " + std::to_string(slot);
}

crypt_keyslot_info status_of_named(const Header::Loaded& header, int slot) {
  if (slot < 0 || slot >= slots_of(header))
    throw Error(Kind::usage, slot_text(header, slot) + ": expected 0 to " + std::to_string(slots_of(header) - 1));
  const crypt_keyslot_info status = crypt_keyslot_status(header.device(), slot);
  if (!in_use(status)) throw Error(Kind::usage, slot_text(header, slot) + " is not in use");
  return status;
}

[[noreturn]] void refuse_secret(const Header::Loaded& header, int slot, int result) {
  const std::string where = slot < 0 ? header.name : slot_text(header, slot);
  if (result == -EPERM) throw Error(Kind::passphrase, where + ": no key available with this passphrase");
  if (result == -ENOENT) throw Error(Kind::unsupported, where + ": no usable key slot");
  if (result == -ENOMEM) throw Error(Kind::memory, where + ": not enough memory for its key derivation");
  header.library.fail(Kind::unsupported, where, result);
}

/// Derives the key that a slot holds. `slot` -1: any that belongs to the data segment.
int derive_key(const Header::Loaded& header, std::span<const Byte> secret, int slot, base::SecretBuffer& key) {
  key = base::SecretBuffer(std::max(
      kKeyRoomBytes,
      slot < 0 ? 0 : static_cast<std::size_t>(std::max(0, crypt_keyslot_get_key_size(header.device(), slot)))));
  std::size_t bytes = key.size();
  const char* const chars = secret.empty() ? "" : reinterpret_cast<const char*>(secret.data());
  const int opened =
      crypt_volume_key_get(header.device(), slot, reinterpret_cast<char*>(key.data()), &bytes, chars, secret.size());
  malloc_trim(0);  // Argon2's memory may be a gigabyte
  if (opened < 0) refuse_secret(header, slot, opened);
  key.shrink(bytes);
  return opened;
}

bool matches_digest(const Header::Loaded& header, std::span<const Byte> key) {
  return crypt_volume_key_verify(header.device(), reinterpret_cast<const char*>(key.data()), key.size()) >= 0;
}

/// A volume without key slots does not say how long its key is; then the digest alone decides.
void check_volume_key(const Header::Loaded& header, std::span<const Byte> key) {
  const int expected = crypt_get_volume_key_size(header.device());
  if (key.empty() || (expected > 0 && key.size() != static_cast<std::size_t>(expected)))
    throw Error(Kind::usage, header.name + ": a volume key of " + std::to_string(key.size()) + " bytes, expected " +
                                 std::to_string(expected));
  if (!matches_digest(header, key))
    throw Error(Kind::passphrase, header.name + ": the volume key does not match the volume");
}

}  // namespace

Header::Header(std::unique_ptr<Loaded> loaded) : loaded_(std::move(loaded)) {}
Header::Header(Header&&) noexcept = default;
Header& Header::operator=(Header&&) noexcept = default;
Header::~Header() = default;

Header Header::load(const std::string& image, const std::optional<std::string>& header, Type type) {
  const std::string& name = header ? *header : image;
  const FileDescriptor device = open_image(name, Access::read_only);
  HeaderCopy copy(size_of(device.get(), name));
  copy.fetch(device.get(), name, 0, kMaxLuks2MetadataBytes);
  const Magic magic = magic_of(copy);
  check_type(name, magic, type);
  if (magic == Magic::luks2_second_copy) refuse_recovery_over_others(name);

  auto loaded = std::make_unique<Loaded>(name, header.has_value(), std::move(copy));
  load_library(*loaded, type);
  if (was_mended(*loaded, device.get())) refuse_recovery_over_others(name);
  fetch_key_areas(*loaded, device.get());
  return Header(std::move(loaded));
}

Type Header::type() const noexcept { return loaded_->type; }

std::string Header::uuid() const {
  const char* uuid = crypt_get_uuid(loaded_->device());
  return uuid ? uuid : "";
}

int Header::unlock(const Credential& credential, int key_slot, base::SecretBuffer& volume_key) const {
  if (credential.kind == SecretKind::volume_key) {
    check_volume_key(*loaded_, credential.secret.bytes());
    volume_key = base::SecretBuffer(credential.secret.bytes());
    return -1;
  }
  if (key_slot != -1 && status_of_named(*loaded_, key_slot) == CRYPT_SLOT_UNBOUND)
    throw Error(Kind::unsupported, slot_text(*loaded_, key_slot) + " is unbound: it does not hold the volume's key");
  base::SecretBuffer key;
  const int opened = derive_key(*loaded_, credential.secret.bytes(), key_slot, key);
  if (!matches_digest(*loaded_, key.bytes()))
    throw Error(Kind::passphrase, slot_text(*loaded_, opened) + ": its key does not match the volume");
  volume_key = std::move(key);
  return opened;
}

int Header::test_passphrase(const Credential& credential, int key_slot) const {
  base::SecretBuffer key;
  const bool named = credential.kind != SecretKind::volume_key && key_slot != -1;
  if (!named || status_of_named(*loaded_, key_slot) != CRYPT_SLOT_UNBOUND) return unlock(credential, key_slot, key);
  return derive_key(*loaded_, credential.secret.bytes(), key_slot,
                    key);  // the library verifies it against the slot's own digest
}

bool Header::flag_allow_discards() const {
  std::uint32_t flags = 0;
  return crypt_persistent_flags_get(loaded_->device(), CRYPT_FLAGS_ACTIVATION, &flags) >= 0 &&
         (flags & CRYPT_ACTIVATE_ALLOW_DISCARDS);
}

}  // namespace nbdcrypt::volume
