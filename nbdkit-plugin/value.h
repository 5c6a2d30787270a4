// SPDX-License-Identifier: Apache-2.0
//
// The value of one key, read with nbdkit's own parsers, so that numbers, sizes, booleans and passwords are spelled here
// as in every other plugin. Each function throws: Error{usage} that names the key, or AlreadyReported where nbdkit has
// named it.
#pragma once

#include <cstdint>

#include "base/secret.h"

namespace nbdcrypt::plugin {

struct Value {
  const char* key;
  const char* text;

  bool boolean() const;
  std::uint32_t number() const;
  /// At most `largest`, which is what a message says.
  int number_up_to(int largest) const;
  /// Bytes, with the suffixes of nbdkit_parse_size().
  std::uint64_t bytes() const;
  /// A plain number of 512-byte sectors, as cryptsetup's --offset, --skip and --size; no suffix, since "1M" would be
  /// bytes to one reader and sectors to another. Fits into 63 bits as bytes.
  std::uint64_t sectors() const;
  /// nbdkit_read_password(): literal, "-", "+FILE", "-FD". Warns about a literal one.
  base::SecretBuffer password() const;
};

}  // namespace nbdcrypt::plugin
