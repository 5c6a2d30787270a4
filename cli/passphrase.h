// SPDX-License-Identifier: Apache-2.0
//
// Where a secret comes from, by the rules of cryptsetup(8), "NOTES ON PASSPHRASE PROCESSING": typed without echo;
// piped, up to the newline; from a key file, raw. Never from an argument or the environment.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "cli/command.h"
#include "volume/open.h"

namespace nbdcrypt::cli {

/// Longest passphrase that can be typed, as in cryptsetup.
inline constexpr std::size_t kMaxTypedBytes = 512;

/// key-file, keyfile-offset, keyfile-size, timeout and verify-passphrase.
void add_secret_options(po::options_description& options);

struct SecretSource {
  std::optional<std::string> key_file;              // "-": standard input as raw bytes
  std::uint64_t offset_bytes = 0, limit_bytes = 0;  // of what is read; limit 0: all
  unsigned timeout_seconds = 0;                     // of typing; 0: none
  bool verify = false;                              // typed twice
  std::string prompt;

  /// True when a person will type it.
  bool typed() const;
  /// Reads it. Throws Error{usage} for a key file or standard input that has nothing to read (cryptsetup's exit code 1,
  /// also for a missing key file), Error{passphrase} when the two that were typed differ.
  base::SecretBuffer read() const;
};

/// What the options say; `whose` is the volume that the prompt names.
SecretSource secret_source(const Arguments& arguments, const std::string& whose);

/// The key of --volume-key-file, at most `limit_bytes` of it (0: all).
base::SecretBuffer read_volume_key(const Arguments& arguments, std::uint64_t limit_bytes = 0);

/// Reads a secret and gives it to `unlock` until that does not throw Error{passphrase}: `tries` times when it is typed,
/// else once. A key file that fails, but would not with (or without) a newline at its end, is called that in the error.
void try_secrets(const SecretSource& source, volume::SecretKind kind, unsigned tries,
                 const std::function<void(const volume::Credential&)>& unlock);

}  // namespace nbdcrypt::cli
