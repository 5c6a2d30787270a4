// SPDX-License-Identifier: Apache-2.0
//
// Keys of plain volumes. libcryptsetup hashes passphrases as dm-crypt's users always did (hashalot: longer keys by
// hashing again behind one more 'A'); everything else takes bytes as they are.
#include <algorithm>

#include "volume/header.h"
#include "volume/header_library.h"

namespace nbdcrypt::volume {
namespace {

using base::Error;
using base::Kind;

[[noreturn]] void refuse_length(const char* what, std::size_t found, std::size_t expected) {
  throw Error(Kind::usage, std::string("plain: ") + what + " of " + std::to_string(found) + " bytes, expected " +
                               std::to_string(expected));
}

base::SecretBuffer first_bytes(std::span<const Byte> secret, std::size_t key_bytes) {
  base::SecretBuffer key(key_bytes);
  std::copy_n(secret.begin(), std::min(secret.size(), key_bytes), key.data());
  return key;
}

base::SecretBuffer hashed(const std::string& hash, std::size_t key_bytes, std::span<const Byte> secret) {
  LibraryContext library({});
  crypt_params_plain params = {};
  params.hash = hash.c_str();
  int result = crypt_format(library.get(), CRYPT_PLAIN, "aes", "xts-plain64", nullptr, nullptr, key_bytes, &params);
  base::SecretBuffer key(key_bytes);
  std::size_t bytes = key_bytes;
  if (result >= 0) {
    const char* const chars = secret.empty() ? "" : reinterpret_cast<const char*>(secret.data());
    result = crypt_volume_key_get(library.get(), CRYPT_ANY_SLOT, reinterpret_cast<char*>(key.data()), &bytes, chars,
                                  secret.size());
  }
  if (result >= 0) return key;
  if (result == -ENOMEM) library.fail(Kind::memory, "plain: hash " + hash, result);
  throw Error(Kind::usage, "plain: hash " + hash + ": not known, or its length does not fit passphrase and key (" +
                               std::to_string(key_bytes) + " bytes)");
}

}  // namespace

base::SecretBuffer plain_key(const std::string& hash, std::size_t key_bytes, const Credential& credential) {
  const std::span<const Byte> secret = credential.secret.bytes();
  switch (credential.kind) {
    case SecretKind::volume_key:
      if (secret.size() != key_bytes) refuse_length("a volume key", secret.size(), key_bytes);
      return first_bytes(secret, key_bytes);
    case SecretKind::key_file:
      if (secret.size() < key_bytes) refuse_length("a key file", secret.size(), key_bytes);
      return first_bytes(secret, key_bytes);
    case SecretKind::passphrase:
      break;
  }
  return hash == "plain" ? first_bytes(secret, key_bytes) : hashed(hash, key_bytes, secret);
}

}  // namespace nbdcrypt::volume
