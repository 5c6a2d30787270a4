// SPDX-License-Identifier: Apache-2.0
#include "nbdkit-plugin/config.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>

#include "base/error.h"
#include "modes/backend_choice.h"
#include "nbdkit-plugin/guard.h"
#include "nbdkit-plugin/nbdkit.h"
#include "nbdkit-plugin/value.h"

namespace nbdcrypt::plugin {
namespace {

using base::Error;
using base::Kind;

enum class Only { always, luks, plain };  // the types of volume that a key makes sense for

struct Key {
  const char* name;
  const char* value;
  const char* help;
  Only only;
  void (*set)(Config&, const Value&);
};

constexpr Key kKeys[] = {
    {"file", "IMAGE", "image file or block device", Only::always,
     [](Config& c, const Value& v) { c.open.image = v.text; }},
    {"type", "TYPE", "luks (default), luks1, luks2 or plain", Only::always,
     [](Config& c, const Value& v) { c.open.type = volume::parse_type(v.text); }},
    {"header", "FILE", "detached LUKS header", Only::luks, [](Config& c, const Value& v) { c.open.header = v.text; }},
    {"passphrase", "WORD", "'-' asks, +FILE and -FD read one line", Only::always,
     [](Config& c, const Value& v) { c.passphrase = v.password(); }},
    {"key-file", "FILE", "raw bytes, newline included; '-' is standard input", Only::always,
     [](Config& c, const Value& v) { c.key_file = v.text; }},
    {"keyfile-offset", "BYTES", "skip so much of the key file", Only::always,
     [](Config& c, const Value& v) { c.keyfile_offset_bytes = v.bytes(); }},
    {"keyfile-size", "BYTES", "use so much of the key file", Only::always,
     [](Config& c, const Value& v) { c.keyfile_size_bytes = v.bytes(); }},
    {"volume-key-file", "FILE", "the volume key itself", Only::always,
     [](Config& c, const Value& v) { c.volume_key_file = v.text; }},
    {"key-slot", "N", "try this key slot alone", Only::luks,
     [](Config& c, const Value& v) { c.open.key_slot = v.number_up_to(31); }},
    {"cipher", "SPEC", "as aes-xts-plain64", Only::plain, [](Config& c, const Value& v) { c.open.cipher = v.text; }},
    {"key-size", "BITS", "of the volume key", Only::plain,
     [](Config& c, const Value& v) { c.open.key_size_bits = v.number(); }},
    {"hash", "NAME", "makes the passphrase a key", Only::plain,
     [](Config& c, const Value& v) { c.open.hash = v.text; }},
    {"sector-size", "BYTES", "512 (default) to 4096", Only::plain,
     [](Config& c, const Value& v) { c.open.sector_size = v.number(); }},
    {"offset", "SECTORS", "of 512 bytes: where the data begins", Only::plain,
     [](Config& c, const Value& v) { c.open.offset_sectors = v.sectors(); }},
    {"skip", "SECTORS", "of 512 bytes: IV of the first sector", Only::plain,
     [](Config& c, const Value& v) { c.open.skip_sectors = v.sectors(); }},
    {"size", "SECTORS", "of 512 bytes: length of the volume", Only::plain,
     [](Config& c, const Value& v) { c.open.size_sectors = v.sectors(); }},
    {"iv-large-sectors", "BOOL", "IVs count sectors of sector-size", Only::plain,
     [](Config& c, const Value& v) { c.open.iv_large_sectors = v.boolean(); }},
    {"allow-discards", "BOOL", "pass trim requests on to the image", Only::always,
     [](Config& c, const Value& v) { c.open.allow_discards = v.boolean(); }},
    {"readonly", "BOOL", "open the image for reading only", Only::always,
     [](Config& c, const Value& v) { c.open.read_only = v.boolean(); }},
    {"direct", "BOOL", "past the page cache (O_DIRECT)", Only::always,
     [](Config& c, const Value& v) { c.open.direct = v.boolean(); }},
    {"backend", "NAME", "AES code to use (nbdkit --dump-plugin lists it)", Only::always,
     [](Config& c, const Value& v) { c.open.backend = v.text; }},
    {"offload", "HOW", "off, buffer or batch (default)", Only::always,
     [](Config& c, const Value& v) { c.open.offload = modes::parse_offload(v.text); }},
};

std::string known_keys() {
  std::string names;
  for (const Key& key : kKeys) names += (names.empty() ? "" : ", ") + std::string(key.name);
  return names;
}

const Key& find_key(const std::string& name) {
  if (name == "threads") {
    throw Error(Kind::unsupported,
                "threads: a request is not split among threads; nbdkit -t N sets how many requests run at once");
  }
  const Key* key = std::find_if(std::begin(kKeys), std::end(kKeys), [&](const Key& k) { return name == k.name; });
  if (key == std::end(kKeys))
    throw Error(Kind::usage, fmt::format("{}: unknown key; known are {}", name, known_keys()));
  return *key;
}

void refuse_unless(bool condition, const std::string& message) {
  if (!condition) throw Error(Kind::usage, message);
}

void check_type(const Config& config) {
  const bool plain = config.open.type == volume::Type::plain;
  for (const Key& key : kKeys) {
    if (!config.given.count(key.name)) continue;
    refuse_unless(plain || key.only != Only::plain,
                  fmt::format("{}: only for type=plain; a LUKS header says it itself", key.name));
    refuse_unless(!plain || key.only != Only::luks, fmt::format("{}: only for LUKS, not for type=plain", key.name));
  }
}

void check_secret(const Config& config) {
  std::string found;
  for (const char* name : {"passphrase", "key-file", "volume-key-file"}) {
    if (!config.given.count(name)) continue;
    refuse_unless(found.empty(), fmt::format("{} and {}: give only one of them", found, name));
    found = name;
  }
  refuse_unless(!found.empty(), "no secret: give one of passphrase, key-file, volume-key-file");
  for (const char* name : {"keyfile-offset", "keyfile-size"}) {
    refuse_unless(!config.given.count(name) || found == "key-file", fmt::format("{}: only with key-file", name));
  }
}

void check_standard_input(const std::string& path, const char* key) {
  refuse_unless(path != "-" || nbdkit_stdio_safe(), fmt::format("{}: standard input is the client's connection", key));
}

}  // namespace

void set(Config& config, const std::string& name, const char* value) {
  const Key& key = find_key(name);
  refuse_unless(config.given.insert(name).second, name + ": given twice");
  refuse_unless(*value != '\0' || name == "passphrase", name + ": the value is missing");
  key.set(config, {key.name, value});
}

void check(const Config& config) {
  refuse_unless(!config.open.image.empty(), "file: missing; which image is to be served?");
  check_type(config);
  check_secret(config);
  check_standard_input(config.key_file, "key-file");
  check_standard_input(config.volume_key_file, "volume-key-file");
  const std::string warning = modes::warning_about(modes::choose_backend(config.open.backend));
  if (!warning.empty()) warn(warning);
}

volume::Credential read_secret(Config& config) {
  using volume::SecretKind;
  if (config.passphrase) return {SecretKind::passphrase, std::move(*config.passphrase)};
  if (!config.volume_key_file.empty()) return {SecretKind::volume_key, volume::read_key_file(config.volume_key_file)};
  return {SecretKind::key_file,
          volume::read_key_file(config.key_file, config.keyfile_offset_bytes, config.keyfile_size_bytes)};
}

std::string help() {
  std::string lines;
  for (const Key& key : kKeys) lines += fmt::format("{:<24} {}\n", fmt::format("{}={}", key.name, key.value), key.help);
  return lines;
}

}  // namespace nbdcrypt::plugin
