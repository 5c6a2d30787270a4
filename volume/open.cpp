// SPDX-License-Identifier: Apache-2.0
#include "volume/open.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/error.h"
#include "modes/backend_choice.h"
#include "volume/essiv_key.h"
#include "volume/file_store.h"
#include "volume/header.h"
#include "volume/image_lock.h"
#include "volume/open_plain.h"

namespace nbdcrypt::volume {
namespace {

using base::Error;
using base::Kind;

const char* name_of(Type type) {
  switch (type) {
    case Type::luks1:
      return "LUKS1";
    case Type::luks2:
      return "LUKS2";
    case Type::plain:
      return "plain";
    default:
      return "LUKS";
  }
}

std::uint64_t bytes_of(const std::string& image) {
  const FileDescriptor fd = open_image(image, Access::read_only);
  return size_of(fd.get(), image);
}

/// Everything that can be refused by name is, before the costly derivation of the key.
Unlocked unlock_luks(const OpenOptions& options, const Credential& credential) {
  const std::uint64_t store_bytes = bytes_of(options.image);
  const Header header = Header::load(options.image, options.header, options.type);
  Unlocked unlocked{.type = header.type(),
                    .uuid = header.uuid(),
                    .key_slot = -1,
                    .volume_key = {},
                    .segment = header.data_segment(store_bytes),
                    .allow_discards = options.allow_discards || header.flag_allow_discards()};
  check_essiv_hash(unlocked.segment.cipher);
  unlocked.key_slot = header.unlock(credential, options.key_slot, unlocked.volume_key);
  modes::check_key_size(unlocked.segment.cipher, unlocked.volume_key.size());
  return unlocked;
}

}  // namespace

Type parse_type(std::string_view name) {
  constexpr std::array<std::string_view, 6> kOthers = {"loopaes", "tcrypt", "bitlk", "fvault2", "verity", "integrity"};
  if (name == "luks" || name == "auto") return Type::detect;
  if (name == "luks1") return Type::luks1;
  if (name == "luks2") return Type::luks2;
  if (name == "plain") return Type::plain;
  if (std::find(kOthers.begin(), kOthers.end(), name) != kOthers.end())
    throw Error(Kind::unsupported, fmt::format("type {} is not supported", name));
  throw Error(Kind::usage, fmt::format("type {}: expected luks, luks1, luks2, plain or auto", name));
}

Unlocked unlock(const OpenOptions& options, const Credential& credential) {
  return options.type == Type::plain ? unlock_plain(options, credential) : unlock_luks(options, credential);
}

int test_passphrase(const OpenOptions& options, const Credential& credential) {
  if (options.type == Type::plain)
    throw Error(Kind::usage, options.image + ": plain: any passphrase opens it, there is nothing to test");
  return Header::load(options.image, options.header, options.type).test_passphrase(credential, options.key_slot);
}

std::unique_ptr<Volume> open_volume(const OpenOptions& options, const Unlocked& unlocked) {
  const aes::Backend& backend = modes::choose_backend(options.backend);
  auto store = std::make_unique<FileStore>(options.image, options.read_only ? Access::read_only : Access::read_write);
  lock_image(store->fd(), options.image, options.read_only ? LockMode::shared_read : LockMode::exclusive_write);
  if (options.direct)
    store->bypass_page_cache();
  else
    store->view_page_cache();

  const Segment& segment = unlocked.segment;
  const base::SecretBuffer hashed = essiv_key(segment.cipher, unlocked.volume_key.bytes());
  const modes::SectorKeys keys{.key = unlocked.volume_key.bytes(), .essiv_key = hashed.bytes()};
  std::vector<CipherSegment> segments;
  segments.push_back({segment, base::Secret<modes::SectorCipher>(std::in_place, backend, segment.cipher, segment.layout,
                                                                 keys, options.offload)});
  return std::make_unique<Volume>(
      std::move(store), std::move(segments),
      Volume::Options{.read_only = options.read_only, .allow_discards = unlocked.allow_discards});
}

std::string describe(const Unlocked& unlocked, const Volume& volume) {
  return fmt::format("{} {}, {}-bit key, {}-byte sectors, {}", name_of(unlocked.type), unlocked.segment.cipher.text(),
                     unlocked.volume_key.size() * 8, unlocked.segment.layout.sector_bytes,
                     volume.cipher().backend().name);
}

}  // namespace nbdcrypt::volume
