// SPDX-License-Identifier: Apache-2.0
#include "tests/modes/witness.h"

#include <gcrypt.h>
#include <openssl/evp.h>

#include <memory>
#include <stdexcept>

namespace nbdcrypt::test {
namespace {

using Bytes = std::vector<std::uint8_t>;

[[noreturn]] void refused(const char* library, const std::string& mode, std::size_t key_bytes) {
  throw std::runtime_error(std::string(library) + " refuses AES-" + mode + " with " + std::to_string(key_bytes * 8) +
                           " key bits");
}

std::size_t aes_key_bytes(const std::string& mode, std::size_t key_bytes) {
  return mode == "XTS" ? key_bytes / 2 : key_bytes;
}

int gcrypt_mode(const std::string& mode) {
  if (mode == "ECB") return GCRY_CIPHER_MODE_ECB;
  if (mode == "CBC") return GCRY_CIPHER_MODE_CBC;
  if (mode == "CFB") return GCRY_CIPHER_MODE_CFB;
  if (mode == "OFB") return GCRY_CIPHER_MODE_OFB;
  if (mode == "CTR") return GCRY_CIPHER_MODE_CTR;
  return GCRY_CIPHER_MODE_XTS;
}

struct GcryptClose {
  void operator()(gcry_cipher_hd_t cipher) const { gcry_cipher_close(cipher); }
};

/// An opened cipher with its key, or an exception.
gcry_cipher_hd_t gcrypt_open(const std::string& mode, std::span<const std::uint8_t> key) {
  static const bool initialised =
      gcry_check_version(nullptr) != nullptr && gcry_control(GCRYCTL_INITIALIZATION_FINISHED, 0) == 0;
  const std::size_t bytes = aes_key_bytes(mode, key.size());
  const int algorithm = bytes == 16 ? GCRY_CIPHER_AES128 : bytes == 24 ? GCRY_CIPHER_AES192 : GCRY_CIPHER_AES256;
  gcry_cipher_hd_t cipher = nullptr;
  if (!initialised || gcry_cipher_open(&cipher, algorithm, gcrypt_mode(mode), 0) != 0) {
    refused("libgcrypt", mode, key.size());
  }
  return cipher;
}

}  // namespace

Bytes openssl(const std::string& mode, bool encrypt, std::span<const std::uint8_t> key,
              std::span<const std::uint8_t> iv, std::span<const std::uint8_t> in) {
  const std::string name = "AES-" + std::to_string(aes_key_bytes(mode, key.size()) * 8) + "-" + mode;
  const std::unique_ptr<EVP_CIPHER, decltype(&EVP_CIPHER_free)> cipher(EVP_CIPHER_fetch(nullptr, name.c_str(), nullptr),
                                                                       EVP_CIPHER_free);
  const std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)> context(EVP_CIPHER_CTX_new(),
                                                                                EVP_CIPHER_CTX_free);
  Bytes out(in.size());
  int written = 0;
  if (!cipher || EVP_CipherInit_ex2(context.get(), cipher.get(), key.data(), iv.data(), encrypt, nullptr) != 1 ||
      EVP_CIPHER_CTX_set_padding(context.get(), 0) != 1 ||
      EVP_CipherUpdate(context.get(), out.data(), &written, in.data(), static_cast<int>(in.size())) != 1 ||
      static_cast<std::size_t>(written) != in.size()) {
    refused("OpenSSL", mode, key.size());
  }
  return out;
}

Bytes gcrypt(const std::string& mode, bool encrypt, std::span<const std::uint8_t> key, std::span<const std::uint8_t> iv,
             std::span<const std::uint8_t> in) {
  const std::unique_ptr<gcry_cipher_handle, GcryptClose> cipher(gcrypt_open(mode, key));
  const auto run = encrypt ? gcry_cipher_encrypt : gcry_cipher_decrypt;
  Bytes out(in.size());
  const bool set_iv = mode != "ECB" && mode != "CTR";
  // 1.10 reports equal halves of an XTS key as weak, and takes them.
  const gcry_error_t key_error = gcry_cipher_setkey(cipher.get(), key.data(), key.size());
  if ((key_error != 0 && gcry_err_code(key_error) != GPG_ERR_WEAK_KEY) ||
      (set_iv && gcry_cipher_setiv(cipher.get(), iv.data(), iv.size()) != 0) ||
      (mode == "CTR" && gcry_cipher_setctr(cipher.get(), iv.data(), iv.size()) != 0) ||
      run(cipher.get(), out.data(), out.size(), in.data(), in.size()) != 0) {
    refused("libgcrypt", mode, key.size());
  }
  return out;
}

}  // namespace nbdcrypt::test
