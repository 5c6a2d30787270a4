// SPDX-License-Identifier: Apache-2.0
//
// Independent witnesses: what OpenSSL and libgcrypt make of random data, unit by unit.
#include <gcrypt.h>
#include <openssl/evp.h>

#include <memory>
#include <stdexcept>

#include "aes/key_schedule.h"
#include "tests/aes/support.h"

namespace nbdcrypt::test {
namespace {

struct Mode {
  aes::Op op;
  const char* openssl;  // "AES-128-" goes before it
  int gcrypt;
  bool encrypts;
};

constexpr Mode kModes[] = {
    {aes::ecb_enc, "ECB", GCRY_CIPHER_MODE_ECB, true}, {aes::ecb_dec, "ECB", GCRY_CIPHER_MODE_ECB, false},
    {aes::cbc_enc, "CBC", GCRY_CIPHER_MODE_CBC, true}, {aes::cbc_dec, "CBC", GCRY_CIPHER_MODE_CBC, false},
    {aes::cfb_enc, "CFB", GCRY_CIPHER_MODE_CFB, true}, {aes::cfb_dec, "CFB", GCRY_CIPHER_MODE_CFB, false},
    {aes::ofb, "OFB", GCRY_CIPHER_MODE_OFB, true},     {aes::ctr, "CTR", GCRY_CIPHER_MODE_CTR, true},
    {aes::xts_enc, "XTS", GCRY_CIPHER_MODE_XTS, true}, {aes::xts_dec, "XTS", GCRY_CIPHER_MODE_XTS, false},
};

bool is_xts(aes::Op op) { return op == aes::xts_enc || op == aes::xts_dec; }

void check(bool ok, const char* what) {
  if (!ok) throw std::runtime_error(what);
}

Bytes by_openssl(const Mode& mode, const Bytes& key, const Bytes& in, const Bytes& ivs, std::size_t unit) {
  const std::size_t bits = 8 * key.size() / (is_xts(mode.op) ? 2 : 1);
  const std::string name = "AES-" + std::to_string(bits) + "-" + mode.openssl;
  const std::unique_ptr<EVP_CIPHER, decltype(&EVP_CIPHER_free)> cipher(EVP_CIPHER_fetch(nullptr, name.c_str(), nullptr),
                                                                       EVP_CIPHER_free);
  const std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)> context(EVP_CIPHER_CTX_new(),
                                                                                EVP_CIPHER_CTX_free);
  check(cipher && context, "EVP_CIPHER_fetch");
  Bytes out(in.size());
  for (std::size_t i = 0; unit * i < in.size(); i++) {
    int written = 0;
    check(EVP_CipherInit_ex2(context.get(), cipher.get(), key.data(), &ivs[16 * i], mode.encrypts, nullptr),
          "EVP_CipherInit");
    check(EVP_CIPHER_CTX_set_padding(context.get(), 0), "EVP_CIPHER_CTX_set_padding");
    check(EVP_CipherUpdate(context.get(), &out[unit * i], &written, &in[unit * i], static_cast<int>(unit)),
          "EVP_CipherUpdate");
    check(static_cast<std::size_t>(written) == unit, "EVP_CipherUpdate wrote less");
  }
  return out;
}

Bytes by_gcrypt(const Mode& mode, const Bytes& key, const Bytes& in, const Bytes& ivs, std::size_t unit) {
  const std::size_t bytes = key.size() / (is_xts(mode.op) ? 2 : 1);
  const int algorithm = bytes == 16 ? GCRY_CIPHER_AES128 : bytes == 24 ? GCRY_CIPHER_AES192 : GCRY_CIPHER_AES256;
  gcry_cipher_hd_t handle;
  check(gcry_cipher_open(&handle, algorithm, mode.gcrypt, 0) == 0, "gcry_cipher_open");
  const std::unique_ptr<gcry_cipher_handle, decltype(&gcry_cipher_close)> closer(handle, gcry_cipher_close);
  check(gcry_cipher_setkey(handle, key.data(), key.size()) == 0, "gcry_cipher_setkey");
  Bytes out(in.size());
  for (std::size_t i = 0; unit * i < in.size(); i++) {
    check(gcry_cipher_reset(handle) == 0, "gcry_cipher_reset");
    if (mode.op == aes::ctr) check(gcry_cipher_setctr(handle, &ivs[16 * i], 16) == 0, "gcry_cipher_setctr");
    if (mode.op > aes::ecb_dec && mode.op != aes::ctr) {
      check(gcry_cipher_setiv(handle, &ivs[16 * i], 16) == 0, "gcry_cipher_setiv");
    }
    const auto crypt = mode.encrypts ? gcry_cipher_encrypt : gcry_cipher_decrypt;
    check(crypt(handle, &out[unit * i], unit, &in[unit * i], unit) == 0, "gcry_cipher_encrypt");
  }
  return out;
}

/// Through the kernel of the backend, or the model where it has none. XTS: the second half of the key encrypts the
/// tweaks.
Bytes by_backend(const aes::Backend& backend, const Mode& mode, const Bytes& key, const Bytes& in, Bytes ivs,
                 std::size_t unit) {
  const std::size_t bytes = key.size() / (is_xts(mode.op) ? 2 : 1);
  aes::Key data_key, tweak_key;
  check(aes::make_key(backend, {key.data(), bytes}, data_key), "make_key");
  if (is_xts(mode.op)) {
    check(aes::make_key(backend, {key.data() + bytes, bytes}, tweak_key), "make_key");
    backend.encrypt(tweak_key, ivs.data(), ivs.data(), ivs.size() / 16);
  }
  Bytes out(in.size());
  const aes::Run run{in.data(), out.data(), ivs.data(), unit, in.size() / unit};
  backend.offload.of[mode.op] ? backend.offload.of[mode.op](data_key, run) : model(mode.op, data_key, run);
  return out;
}

using Witness = Bytes (*)(const Mode&, const Bytes&, const Bytes&, const Bytes&, std::size_t);

class Witnesses : public testing::TestWithParam<const aes::Backend*> {
 protected:
  void agree_with(Witness witness) const {
    for (const Mode& mode : kModes) {
      for (const std::size_t key_bytes : kKeyBytes) {
        if (is_xts(mode.op) && key_bytes == 24) continue;  // neither has it
        const Bytes key = random_bytes(key_bytes * (is_xts(mode.op) ? 2 : 1), key_bytes + 3);
        for (const std::size_t unit : {16, 48, 112, 512, 4080, 4096}) {
          for (const std::size_t count : {1, 3, 8, 21}) {
            const Bytes in = random_bytes(unit * count, unit + count), ivs = random_bytes(16 * count, unit + count + 1);
            ASSERT_EQ(witness(mode, key, in, ivs, unit), by_backend(*GetParam(), mode, key, in, ivs, unit))
                << op_name(mode.op) << ", key of " << key.size() << " bytes, " << count << " units of " << unit;
          }
        }
      }
    }
  }
};

INSTANTIATE_TEST_SUITE_P(Backends, Witnesses, testing::ValuesIn(tested_backends()), test_name);

TEST_P(Witnesses, OpensslAgrees) { agree_with(by_openssl); }

TEST_P(Witnesses, LibgcryptAgrees) {
  ASSERT_NE(nullptr, gcry_check_version(GCRYPT_VERSION));
  gcry_control(GCRYCTL_DISABLE_SECMEM, 0);
  gcry_control(GCRYCTL_INITIALIZATION_FINISHED, 0);
  agree_with(by_gcrypt);
}

}  // namespace
}  // namespace nbdcrypt::test
