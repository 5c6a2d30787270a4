// SPDX-License-Identifier: Apache-2.0
#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <stdexcept>

#include "bench/peers/peer.h"

namespace nbdcrypt::bench {
namespace {

void require(int ok, const char* call) {
  if (ok != 1) throw std::runtime_error(std::string("openssl: ") + call + " failed");
}

struct Free {
  void operator()(EVP_CIPHER_CTX* context) const { EVP_CIPHER_CTX_free(context); }
};
using Context = std::unique_ptr<EVP_CIPHER_CTX, Free>;

Context make_context(const std::string& name, const std::vector<Byte>& key, bool encrypt) {
  Context context(EVP_CIPHER_CTX_new());
  const std::unique_ptr<EVP_CIPHER, void (*)(EVP_CIPHER*)> cipher(EVP_CIPHER_fetch(nullptr, name.c_str(), nullptr),
                                                                  EVP_CIPHER_free);
  if (!cipher) throw std::runtime_error("openssl: no " + name);
  const Byte iv[16] = {};
  require(EVP_CipherInit_ex2(context.get(), cipher.get(), key.data(), iv, encrypt, nullptr), "EVP_CipherInit_ex2");
  require(EVP_CIPHER_CTX_set_padding(context.get(), 0), "EVP_CIPHER_CTX_set_padding");
  return context;
}

class OpenSsl final : public Peer {
 public:
  explicit OpenSsl(const SectorCase& cell) : cell_(cell), plan_(plan_of(cell)), iv_(cell.sectors() * 16) {
    const std::string mode = plan_.xts ? "XTS" : plan_.iv == PeerPlan::Iv::none ? "ECB" : "CBC";
    data_ =
        make_context("AES-" + std::to_string(plan_.cipher_bits) + "-" + mode, bench_key(cell.key_bits), cell.encrypt);
    if (plan_.iv == PeerPlan::Iv::essiv) essiv_ = make_context("AES-256-ECB", bench_essiv_key(), true);
  }

  std::string name() const override { return std::string("openssl ") + OpenSSL_version(OPENSSL_VERSION_STRING); }

  void run(std::uint64_t first_sector, std::vector<Byte>& data) override {
    if (plan_.iv == PeerPlan::Iv::none) return update(data_.get(), data.data(), data.size());
    fill_numbers(cell_, first_sector, iv_);
    if (essiv_) update(essiv_.get(), iv_.data(), iv_.size());
    for (std::size_t i = 0; i < cell_.sectors(); ++i) {
      // With null for cipher and key: the round keys stay, only the IV is new; -1: the direction stays.
      require(EVP_CipherInit_ex(data_.get(), nullptr, nullptr, nullptr, &iv_[16 * i], -1), "EVP_CipherInit_ex");
      update(data_.get(), data.data() + i * cell_.sector_bytes, cell_.sector_bytes);
    }
  }

 private:
  static void update(EVP_CIPHER_CTX* context, Byte* data, std::size_t bytes) {
    int written = 0;
    require(EVP_CipherUpdate(context, data, &written, data, static_cast<int>(bytes)), "EVP_CipherUpdate");
  }

  SectorCase cell_;
  PeerPlan plan_;
  std::vector<Byte> iv_;
  Context data_, essiv_;
};

}  // namespace

std::unique_ptr<Peer> make_openssl(const SectorCase& cell) { return std::make_unique<OpenSsl>(cell); }

}  // namespace nbdcrypt::bench
