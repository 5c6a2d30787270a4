// SPDX-License-Identifier: Apache-2.0
//
// luksFormat: makes a LUKS volume. Whatever can be refused is refused before a byte is written; what is there already
// is overwritten only after YES or with --batch-mode. With --size it makes the image file as well, and takes it away
// again when formatting fails.
#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>

#include "base/error.h"
#include "cli/add_options.h"
#include "cli/byte_size.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/new_file.h"
#include "cli/passphrase.h"
#include "cli/terminal.h"
#include "volume/header.h"
#include "volume/image_lock.h"
#include "volume/signatures.h"

namespace nbdcrypt::cli {
namespace {

using base::Error;
using base::Kind;
using volume::FormatOptions;
using volume::Type;

void add_options(po::options_description& options) {
  add_value<std::string>(options, "type,M", "TYPE", "luks1 or luks2 (default)");
  add_value<std::string>(options, "cipher,c", "SPEC", "default aes-xts-plain64");
  add_value<std::uint32_t>(options, "key-size,s", "BITS", "size of the volume key; XTS: of both its halves");
  add_value<std::string>(options, "hash,h", "HASH", "hash of the key slots (default sha256)");
  add_value<std::string>(options, "pbkdf", "NAME", "argon2id (default of LUKS2), argon2i or pbkdf2");
  add_value<std::uint32_t>(options, "pbkdf-memory", "KIB", "memory of Argon2");
  add_value<std::uint32_t>(options, "pbkdf-parallel", "N", "threads of Argon2");
  add_value<std::uint32_t>(options, "pbkdf-force-iterations", "N", "this many iterations, without measuring");
  add_value<std::uint32_t>(options, "iter-time,i", "MS", "how long unlocking may take (default 2000)");
  add_value<std::uint32_t>(options, "sector-size", "BYTES", "LUKS2: 512, 1024, 2048 or 4096; default: the image's");
  add_value<std::string>(options, "label", "TEXT", "LUKS2: label");
  add_value<std::string>(options, "subsystem", "TEXT", "LUKS2: subsystem label");
  add_value<std::string>(options, "uuid", "UUID", "default: a random one");
  add_value<std::string>(options, "header", "FILE", "write the header to FILE, made when it does not exist");
  add_value<std::string>(options, "volume-key-file", "FILE", "the volume key; default: a random one");
  add_value<std::uint32_t>(options, "key-slot,S", "N", "key slot of the passphrase (default 0)");
  add_value<std::uint64_t>(options, "offset,o", "SECTORS", "where the data begins, in units of 512 bytes");
  add_value<ByteSize>(options, "luks2-metadata-size", "BYTES", "LUKS2: size of each copy of the metadata");
  add_value<ByteSize>(options, "luks2-keyslots-size", "BYTES", "LUKS2: size of the key slots");
  add_value<ByteSize>(options, "size", "BYTES", "make IMAGE, a sparse file of this size (1G, 512M, ...)");
  add_secret_options(options);
}

Type type_of(const Arguments& arguments) {
  const std::string type = arguments.get_or<std::string>("type", "luks2");
  const Type parsed = volume::parse_type(type);
  if (parsed == Type::plain)
    throw Error(Kind::usage, "luksFormat: option --type plain: a plain volume has no header to format");
  return parsed == Type::detect ? Type::luks2 : parsed;  // as cryptsetup: "luks" is the newer one
}

volume::Pbkdf pbkdf_of(const Arguments& arguments) {
  if (arguments.has("pbkdf-force-iterations") && arguments.has("iter-time")) {
    throw Error(Kind::usage, "luksFormat: option --pbkdf-force-iterations cannot be combined with --iter-time");
  }
  return {.type = arguments.get_or<std::string>("pbkdf", ""),
          .iter_time_ms = arguments.get_or<std::uint32_t>("iter-time", 0),
          .force_iterations = arguments.get_or<std::uint32_t>("pbkdf-force-iterations", 0),
          .memory_kib = arguments.get_or<std::uint32_t>("pbkdf-memory", 0),
          .parallel = arguments.get_or<std::uint32_t>("pbkdf-parallel", 0)};
}

template <class T>
void take(const Arguments& arguments, const char* option, std::optional<T>& into) {
  if (arguments.has(option)) into = arguments.get<T>(option);
}

FormatOptions format_options(const Arguments& arguments) {
  FormatOptions options;
  options.image = arguments.positional[0];
  options.type = type_of(arguments);
  take(arguments, "header", options.header);
  take(arguments, "cipher", options.cipher);
  take(arguments, "key-size", options.key_size_bits);
  take(arguments, "hash", options.hash);
  options.pbkdf = pbkdf_of(arguments);
  take(arguments, "sector-size", options.sector_size);
  options.label = arguments.get_or<std::string>("label", "");
  options.subsystem = arguments.get_or<std::string>("subsystem", "");
  options.uuid = arguments.get_or<std::string>("uuid", "");
  if (arguments.has("key-slot")) options.key_slot = static_cast<int>(arguments.get<std::uint32_t>("key-slot"));
  options.luks2_metadata_bytes = arguments.get_or("luks2-metadata-size", ByteSize{}).bytes;
  options.luks2_keyslots_bytes = arguments.get_or("luks2-keyslots-size", ByteSize{}).bytes;
  take(arguments, "offset", options.offset_sectors);
  return options;
}

bool exists(const std::string& path) {
  struct stat status;
  if (lstat(path.c_str(), &status) == 0) return true;
  if (errno != ENOENT) base::throw_open_error(path, errno);
  return false;
}

// Where the header goes, if that is already there.
std::optional<std::string> overwritten(const FormatOptions& options, bool new_image) {
  if (options.header) return exists(*options.header) ? options.header : std::nullopt;
  return new_image ? std::nullopt : std::optional(options.image);
}

// Refuses an image that is served, or holds something while nobody can be asked. Asks otherwise. False: the answer was
// no.
bool may_overwrite(const std::string& path, bool batch) {
  const volume::FileDescriptor fd = volume::open_image(path, volume::Access::read_only);
  volume::check_image_unlocked(fd.get(), path, volume::LockMode::exclusive_write);
  if (batch) return true;
  const std::vector<std::string> found = volume::signatures_on(path);
  if (!found.empty() && !input_is_terminal()) {
    throw Error(Kind::usage, fmt::format("{}: holds data ({})", path, fmt::join(found, ", ")), 0,
                "--batch-mode (-q) overwrites it");
  }
  for (const std::string& signature : found) tell(fmt::format("nbdcrypt: warning: {} holds: {}\n", path, signature));
  return confirm(fmt::format("This will overwrite data on {} irrevocably.", path), batch);
}

base::SecretBuffer passphrase(const Arguments& arguments) {
  SecretSource source = secret_source(arguments, arguments.positional[0]);
  if (arguments.positional.size() > 1) {
    if (source.key_file) throw Error(Kind::usage, "luksFormat: two key files: an argument and option --key-file");
    source.key_file = arguments.positional[1];
  }
  source.verify |= !arguments.flag("batch-mode");  // a typing error here would lock everybody out
  return source.read();
}

int run(const Arguments& arguments) {
  const FormatOptions options = format_options(arguments);
  const bool batch = arguments.flag("batch-mode");
  const bool new_image = arguments.has("size");
  if (new_image && exists(options.image)) {
    throw Error(Kind::busy, options.image + ": exists already", EEXIST, "without --size, what is there is formatted");
  }
  const auto target = overwritten(options, new_image);
  if (target && !may_overwrite(*target, batch)) throw Error(Kind::usage, options.image + ": left as it was");

  const base::SecretBuffer secret = passphrase(arguments);
  base::SecretBuffer volume_key;
  if (arguments.has("volume-key-file")) volume_key = read_volume_key(arguments, options.key_size_bits.value_or(0) / 8);

  const Interrupts interrupts;
  std::optional<NewFile> image;
  if (new_image) image.emplace(options.image, arguments.get<ByteSize>("size").bytes);
  for (const std::string& warning : volume::format(options, secret.bytes(), volume_key.bytes())) {
    tell(fmt::format("nbdcrypt: warning: {}\n", warning));
  }
  if (image) image->keep();
  if (arguments.flag("verbose")) fmt::print("Key slot {} created.\n", std::max(options.key_slot, 0));
  return 0;
}

}  // namespace

Command luks_format_command() {
  return {"luksFormat", {"format"}, "IMAGE [KEYFILE]", "make a LUKS volume", 1, 2, add_options, run};
}

}  // namespace nbdcrypt::cli
