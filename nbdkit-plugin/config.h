// SPDX-License-Identifier: Apache-2.0
//
// The KEY=VALUE pairs of the command line. Keys are spelled and mean what the long options of cryptsetup(8) do;
// `passphrase` and the spelling of booleans and byte sizes are nbdkit's. One table (config.cpp) holds what a key is
// called, its line of help, and what it sets. No key is ever ignored: unknown, repeated and contradictory ones are
// errors that name it.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "volume/open.h"

namespace nbdcrypt::plugin {

struct Config {
  volume::OpenOptions open;
  std::optional<base::SecretBuffer> passphrase;
  std::string key_file;
  std::string volume_key_file;
  std::uint64_t keyfile_offset_bytes = 0;
  std::uint64_t keyfile_size_bytes = 0;  // 0: to its end
  std::set<std::string> given;           // the keys seen so far
};

/// Takes one pair. Throws Error{usage} or {unsupported} that names the key, or AlreadyReported.
void set(Config& config, const std::string& key, const char* value);

/// What can be said about all pairs together before anything is opened: nothing is missing or contradictory, and the
/// backend exists. Throws Error{usage}.
void check(const Config& config);

/// The secret, moved out of `config` or read from the file that it names; each file is read once, so a pipe will do.
/// Throws Error as volume::read_key_file().
volume::Credential read_secret(Config& config);

/// One line for each key, for `nbdkit --help`.
std::string help();

}  // namespace nbdcrypt::plugin
