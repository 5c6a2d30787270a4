// SPDX-License-Identifier: Apache-2.0
//
// What a loaded header consists of, for the header*.cpp files alone.
#pragma once

#include <string>

#include "volume/header.h"
#include "volume/header_copy.h"
#include "volume/header_library.h"

namespace nbdcrypt::volume {

struct Header::Loaded {
  Loaded(std::string name_, bool detached_, HeaderCopy copy_)
      : name(std::move(name_)), detached(detached_), copy(std::move(copy_)), library(copy.path()) {}

  crypt_device* device() const { return library.get(); }

  std::string name;  // the path that messages name
  bool detached;
  HeaderCopy copy;
  LibraryContext library;  // works on copy
  Type type = Type::luks2;
};

/// Throws unless LUKS can hold such a key and we can serve it: Error{usage} for a length that does not fit the cipher,
/// {unsupported} for XTS with 384 bits (the library opens no key area that is encrypted like that) and for an essiv
/// hash that is no AES key. `name` begins the message.
void check_luks_key(const std::string& name, const modes::CipherSpec& cipher, std::size_t key_bytes);

}  // namespace nbdcrypt::volume
