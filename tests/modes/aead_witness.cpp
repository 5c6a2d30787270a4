// SPDX-License-Identifier: Apache-2.0
#include "tests/modes/aead_witness.h"

#include <gcrypt.h>
#include <openssl/evp.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>

namespace nbdcrypt::test {
namespace {

using Bytes = std::vector<std::uint8_t>;
using View = std::span<const std::uint8_t>;
using modes::AeadMode;

int gcrypt_mode(AeadMode mode) {
  if (mode == AeadMode::ccm) return GCRY_CIPHER_MODE_CCM;
  if (mode == AeadMode::eax) return GCRY_CIPHER_MODE_EAX;
  if (mode == AeadMode::gcm) return GCRY_CIPHER_MODE_GCM;
  return GCRY_CIPHER_MODE_OCB;
}

void require(gcry_error_t error, const char* call) {
  if (error != 0) throw std::runtime_error(std::string("libgcrypt: ") + call + ": " + gcry_strerror(error));
}

}  // namespace

std::optional<Bytes> openssl_aead(AeadMode mode, View key, View nonce, View ad, View plain, std::size_t tag_bytes) {
  if (mode == AeadMode::eax) return std::nullopt;
  const std::string name = "AES-" + std::to_string(key.size() * 8) + "-" + modes::name_of(mode);
  const std::unique_ptr<EVP_CIPHER, decltype(&EVP_CIPHER_free)> cipher(EVP_CIPHER_fetch(nullptr, name.c_str(), nullptr),
                                                                       EVP_CIPHER_free);
  const std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)> context(EVP_CIPHER_CTX_new(),
                                                                                EVP_CIPHER_CTX_free);
  EVP_CIPHER_CTX* const c = context.get();
  const auto size = [](View bytes) { return static_cast<int>(bytes.size()); };
  Bytes out(plain.size() + tag_bytes + 16), empty(1);
  int written = 0, more = 0;
  const auto data = [&](View bytes) { return bytes.empty() ? empty.data() : bytes.data(); };
  if (EVP_EncryptInit_ex2(c, cipher.get(), nullptr, nullptr, nullptr) != 1 ||
      EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_SET_IVLEN, size(nonce), nullptr) != 1 ||
      (mode != AeadMode::gcm &&
       EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_SET_TAG, static_cast<int>(tag_bytes), nullptr) != 1)) {
    return std::nullopt;
  }
  if (EVP_EncryptInit_ex2(c, nullptr, key.data(), nonce.data(), nullptr) != 1 ||
      (mode == AeadMode::ccm && EVP_EncryptUpdate(c, nullptr, &written, nullptr, size(plain)) != 1) ||
      (!ad.empty() && EVP_EncryptUpdate(c, nullptr, &written, data(ad), size(ad)) != 1)) {
    throw std::runtime_error("OpenSSL refuses " + name);
  }
  written = 0;
  if (((mode == AeadMode::ccm || !plain.empty()) &&
       EVP_EncryptUpdate(c, out.data(), &written, data(plain), size(plain)) != 1) ||
      EVP_EncryptFinal_ex(c, out.data() + written, &more) != 1 ||
      EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_GET_TAG, static_cast<int>(tag_bytes), out.data() + plain.size()) != 1) {
    throw std::runtime_error("OpenSSL fails at " + name);
  }
  out.resize(plain.size() + tag_bytes);
  return out;
}

std::optional<Bytes> gcrypt_aead(AeadMode mode, View key, View nonce, View ad, View plain, std::size_t tag_bytes) {
  static const bool initialised =
      gcry_check_version(nullptr) != nullptr && gcry_control(GCRYCTL_INITIALIZATION_FINISHED, 0) == 0;
  if (!initialised) throw std::runtime_error("libgcrypt: not initialised");
  if (mode == AeadMode::ocb && tag_bytes != 8 && tag_bytes != 12 && tag_bytes != 16) return std::nullopt;
  gcry_cipher_hd_t cipher = nullptr;
  const int algorithm = key.size() == 16   ? GCRY_CIPHER_AES128
                        : key.size() == 24 ? GCRY_CIPHER_AES192
                                           : GCRY_CIPHER_AES256;
  require(gcry_cipher_open(&cipher, algorithm, gcrypt_mode(mode), 0), "open");
  const std::unique_ptr<gcry_cipher_handle, decltype(&gcry_cipher_close)> owned(cipher, gcry_cipher_close);
  require(gcry_cipher_setkey(cipher, key.data(), key.size()), "set key");
  if (mode == AeadMode::ocb) {
    int bytes = static_cast<int>(tag_bytes);
    require(gcry_cipher_ctl(cipher, GCRYCTL_SET_TAGLEN, &bytes, sizeof bytes), "tag length");
  }
  if (gcry_cipher_setiv(cipher, nonce.data(), nonce.size()) != 0) return std::nullopt;
  if (mode == AeadMode::ccm) {
    std::uint64_t lengths[3] = {plain.size(), ad.size(), tag_bytes};
    require(gcry_cipher_ctl(cipher, GCRYCTL_SET_CCM_LENGTHS, lengths, sizeof lengths), "lengths");
  }
  Bytes out(plain.size() + tag_bytes);
  if (!ad.empty()) require(gcry_cipher_authenticate(cipher, ad.data(), ad.size()), "authenticate");
  require(gcry_cipher_final(cipher), "final");
  require(gcry_cipher_encrypt(cipher, out.data(), plain.size(), plain.data(), plain.size()), "encrypt");
  Bytes tag(16);
  // It gives tags of 16 bytes, and some modes shorter ones; those are prefixes.
  require(gcry_cipher_gettag(cipher, tag.data(), mode == AeadMode::ccm || mode == AeadMode::ocb ? tag_bytes : 16),
          "tag");
  std::copy_n(tag.begin(), tag_bytes, out.begin() + static_cast<std::ptrdiff_t>(plain.size()));
  return out;
}

}  // namespace nbdcrypt::test
