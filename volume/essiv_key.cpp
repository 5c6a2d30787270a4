// SPDX-License-Identifier: Apache-2.0
#include "volume/essiv_key.h"

#include <openssl/evp.h>

#include <memory>

#include "base/error.h"

namespace nbdcrypt::volume {
namespace {

using base::Error;
using base::Kind;

struct DigestCloser {
  void operator()(EVP_MD* digest) const noexcept { EVP_MD_free(digest); }
};
using Digest = std::unique_ptr<EVP_MD, DigestCloser>;

[[noreturn]] void refuse(const modes::CipherSpec& cipher, const std::string& why) {
  throw Error(Kind::unsupported, "cipher " + cipher.text() + ": hash " + cipher.essiv_hash + " " + why);
}

Digest digest_of(const modes::CipherSpec& cipher) {
  Digest digest(EVP_MD_fetch(nullptr, cipher.essiv_hash.c_str(), nullptr));
  if (!digest) refuse(cipher, "is not known");
  const int bytes = EVP_MD_get_size(digest.get());
  if (bytes != 16 && bytes != 24 && bytes != 32)
    refuse(cipher, "gives " + std::to_string(bytes) + " bytes, an AES key has 16, 24 or 32");
  return digest;
}

}  // namespace

void check_essiv_hash(const modes::CipherSpec& cipher) {
  if (cipher.iv == modes::IvKind::essiv) digest_of(cipher);
}

base::SecretBuffer essiv_key(const modes::CipherSpec& cipher, std::span<const base::Byte> volume_key) {
  if (cipher.iv != modes::IvKind::essiv) return {};
  const Digest digest = digest_of(cipher);
  base::SecretBuffer key(static_cast<std::size_t>(EVP_MD_get_size(digest.get())));
  if (EVP_Digest(volume_key.data(), volume_key.size(), key.data(), nullptr, digest.get(), nullptr) != 1)
    refuse(cipher, "failed");
  return key;
}

}  // namespace nbdcrypt::volume
