// SPDX-License-Identifier: Apache-2.0
#include "cli/volume_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "base/error.h"
#include "cli/add_options.h"
#include "cli/passphrase.h"
#include "volume/file_store.h"
#include "volume/header.h"

namespace nbdcrypt::cli {
namespace {

using base::Error;
using base::Kind;
using volume::OpenOptions;
using volume::SecretKind;
using volume::Type;
using Unlock = std::function<void(const volume::Credential&)>;

constexpr std::uint32_t kDefaultTries = 3;
constexpr std::uint32_t kMaxKeyBits = 4096;
constexpr std::uint32_t kMaxKeySlot = 31;  // LUKS2; LUKS1 has 0 to 7, which its header checks

// What is not heeded is refused. LUKS takes these from its header, a plain volume has no use for those.
constexpr std::array kPlainOnly = {"cipher", "key-size", "hash", "sector-size", "offset", "skip", "size"};
constexpr std::array kLuksOnly = {"header", "key-slot"};

void refuse_option(const char* option, const std::string& why) {
  throw Error(Kind::usage, fmt::format("option --{} {}", option, why));
}

// The type that an alias of `open` stands for, as in cryptsetup.
const char* type_of_name(const std::string& command_name) {
  static const std::map<std::string, const char*> kTypes = {
      {"luksOpen", "luks"}, {"plainOpen", "plain"}, {"create", "plain"}};
  const auto found = kTypes.find(command_name);
  return found == kTypes.end() ? nullptr : found->second;
}

Type type_of(const Arguments& arguments) {
  const char* implied = type_of_name(arguments.name);
  const std::string type = arguments.get_or<std::string>("type", implied ? implied : "luks");
  const Type parsed = volume::parse_type(type);
  if (implied != nullptr && (parsed == Type::plain) != (volume::parse_type(implied) == Type::plain)) {
    throw Error(Kind::usage, fmt::format("{}: option --type {} contradicts the command", arguments.name, type));
  }
  return parsed;
}

void check_combination(const Arguments& arguments, Type type) {
  if (type == Type::plain) {
    for (const char* option : kLuksOnly) {
      if (arguments.has(option)) refuse_option(option, "is not for --type plain, which has no header");
    }
  } else {
    for (const char* option : kPlainOnly) {
      if (arguments.has(option)) refuse_option(option, "is for --type plain alone: LUKS has it in its header");
    }
    if (arguments.flag("iv-large-sectors")) refuse_option("iv-large-sectors", "is for --type plain alone");
  }
  if (!arguments.has("volume-key-file")) return;
  for (const char* option : {"key-file", "keyfile-offset", "keyfile-size", "key-slot"}) {
    if (arguments.has(option)) refuse_option(option, "cannot be combined with --volume-key-file");
  }
}

void check_key_slot(const Arguments& arguments) {
  const std::uint32_t slot = arguments.get_or<std::uint32_t>("key-slot", 0);
  if (slot > kMaxKeySlot) refuse_option("key-slot", fmt::format("is {}, expected 0 to {}", slot, kMaxKeySlot));
}

template <class T>
void take(const Arguments& arguments, const char* option, std::optional<T>& into) {
  if (arguments.has(option)) into = arguments.get<T>(option);
}

// Key files of plain volumes are raw keys, except for `--key-file -`, which is hashed like a passphrase: cryptsetup(8).
SecretKind kind_of(const Arguments& arguments, Type type) {
  if (arguments.has("volume-key-file")) return SecretKind::volume_key;
  const SecretSource source = secret_source(arguments, "");
  if (!source.key_file || source.typed()) return SecretKind::passphrase;
  return type == Type::plain && *source.key_file == "-" ? SecretKind::passphrase : SecretKind::key_file;
}

// Nobody shall type a passphrase for a volume that cannot be opened anyway. A plain volume is opened with a key of
// zeros for that, which finds whatever is wrong with its options; nothing is read.
void check_before_asking(const OpenOptions& options, SecretKind kind) {
  if (options.type != Type::plain) {
    const volume::FileDescriptor fd = volume::open_image(options.image, volume::Access::read_only);
    volume::Header::load(options.image, options.header, options.type)
        .data_segment(volume::size_of(fd.get(), options.image));
    return;
  }
  const bool complete = options.cipher && options.key_size_bits && (options.hash || kind != SecretKind::passphrase);
  if (!complete)
    volume::unlock(options, {kind, {}});  // says what is missing
  else
    volume::unlock(options,
                   {SecretKind::volume_key, base::SecretBuffer(std::min(*options.key_size_bits, kMaxKeyBits) / 8)});
}

void unlock_with(const Arguments& arguments, const OpenOptions& options, SecretKind kind, const Unlock& unlock) {
  if (kind == SecretKind::volume_key) return unlock({kind, read_volume_key(arguments)});
  try_secrets(secret_source(arguments, options.image), kind, arguments.get_or("tries", kDefaultTries), unlock);
}

}  // namespace

void add_volume_options(po::options_description& options) {
  add_value<std::string>(options, "type,M", "TYPE", "luks (default), luks1, luks2 or plain");
  add_value<std::string>(options, "header", "FILE", "the LUKS header is in FILE");
  add_flag(options, "readonly,r", "do not write");
  add_flag(options, "allow-discards", "give discarded sectors back; tells which ones are unused");
  add_flag(options, "direct", "read and write the image past the page cache");
  add_value<std::uint32_t>(options, "key-slot,S", "N", "try this key slot alone");
  add_value<std::string>(options, "cipher,c", "SPEC", "plain: aes-xts-plain64 or another one");
  add_value<std::uint32_t>(options, "key-size,s", "BITS", "plain: size of the key");
  add_value<std::string>(options, "hash,h", "HASH", "plain: hash of the passphrase");
  add_value<std::uint32_t>(options, "sector-size", "BYTES", "plain: 512, 1024, 2048 or 4096");
  add_value<std::uint64_t>(options, "offset,o", "SECTORS", "plain: where the data begins, in units of 512 bytes");
  add_value<std::uint64_t>(options, "skip,p", "SECTORS", "plain: first IV number, in units of 512 bytes");
  add_value<std::uint64_t>(options, "size,b", "SECTORS", "plain: size of the data, in units of 512 bytes");
  add_flag(options, "iv-large-sectors", "plain: IVs count sectors, not units of 512 bytes");
  add_value<std::string>(options, "backend", "NAME", "the AES implementation; see nbdcrypt-backends(8)");
  add_value<std::string>(options, "offload", "HOW", "how much the backend is given at a time: off, buffer or batch");
  add_secret_options(options);
  add_value<std::string>(options, "volume-key-file", "FILE", "the volume key itself is in FILE");
  add_value<std::uint32_t>(options, "tries,T", "N", "how often to ask for the passphrase (default 3)");
}

OpenOptions volume_options(const Arguments& arguments, const std::string& image) {
  OpenOptions options;
  options.image = image;
  options.type = type_of(arguments);
  check_combination(arguments, options.type);
  check_key_slot(arguments);
  take(arguments, "header", options.header);
  options.read_only = arguments.flag("readonly");
  options.allow_discards = arguments.flag("allow-discards");
  options.direct = arguments.flag("direct");
  if (arguments.has("key-slot")) options.key_slot = static_cast<int>(arguments.get<std::uint32_t>("key-slot"));
  take(arguments, "cipher", options.cipher);
  take(arguments, "key-size", options.key_size_bits);
  take(arguments, "hash", options.hash);
  options.sector_size = arguments.get_or("sector-size", options.sector_size);
  options.offset_sectors = arguments.get_or("offset", options.offset_sectors);
  options.skip_sectors = arguments.get_or("skip", options.skip_sectors);
  options.size_sectors = arguments.get_or("size", options.size_sectors);
  options.iv_large_sectors = arguments.flag("iv-large-sectors");
  options.backend = arguments.get_or<std::string>("backend", "");
  if (arguments.has("offload")) options.offload = modes::parse_offload(arguments.get<std::string>("offload"));
  return options;
}

volume::Unlocked unlock_volume(const Arguments& arguments, const OpenOptions& options) {
  const SecretKind kind = kind_of(arguments, options.type);
  check_before_asking(options, kind);
  std::optional<volume::Unlocked> unlocked;
  unlock_with(arguments, options, kind,
              [&](const volume::Credential& credential) { unlocked.emplace(volume::unlock(options, credential)); });
  return std::move(*unlocked);
}

int test_passphrase(const Arguments& arguments, const OpenOptions& options) {
  if (options.type != Type::plain) volume::Header::load(options.image, options.header, options.type);  // before asking
  int slot = -1;
  unlock_with(arguments, options, kind_of(arguments, options.type),
              [&](const volume::Credential& credential) { slot = volume::test_passphrase(options, credential); });
  return slot;
}

}  // namespace nbdcrypt::cli
