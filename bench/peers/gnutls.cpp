// SPDX-License-Identifier: Apache-2.0
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>

#include <stdexcept>

#include "bench/peers/peer.h"

namespace nbdcrypt::bench {
namespace {

void require(int result, const char* call) {
  if (result < 0) throw std::runtime_error(std::string("gnutls: ") + call + ": " + gnutls_strerror(result));
}

struct Deinit {
  void operator()(gnutls_cipher_hd_t handle) const { gnutls_cipher_deinit(handle); }
};
using Handle = std::unique_ptr<std::remove_pointer_t<gnutls_cipher_hd_t>, Deinit>;

Handle make_handle(gnutls_cipher_algorithm_t cipher, std::vector<Byte> key) {
  Byte zero[16] = {};
  const gnutls_datum_t key_datum{key.data(), static_cast<unsigned>(key.size())}, iv_datum{zero, sizeof zero};
  gnutls_cipher_hd_t handle = nullptr;
  require(gnutls_cipher_init(&handle, cipher, &key_datum, &iv_datum), "gnutls_cipher_init");
  return Handle(handle);
}

gnutls_cipher_algorithm_t algorithm(const PeerPlan& plan) {
  if (plan.xts) return plan.cipher_bits == 128 ? GNUTLS_CIPHER_AES_128_XTS : GNUTLS_CIPHER_AES_256_XTS;
  return plan.cipher_bits == 128 ? GNUTLS_CIPHER_AES_128_CBC : GNUTLS_CIPHER_AES_256_CBC;
}

class GnuTls final : public Peer {
 public:
  explicit GnuTls(const SectorCase& cell)
      : cell_(cell),
        plan_(plan_of(cell)),
        iv_(cell.sectors() * 16),
        data_(make_handle(algorithm(plan_), bench_key(cell.key_bits))) {
    if (plan_.iv == PeerPlan::Iv::essiv) essiv_ = make_handle(GNUTLS_CIPHER_AES_256_CBC, bench_essiv_key());
  }

  std::string name() const override { return std::string("gnutls ") + gnutls_check_version(nullptr); }

  void run(std::uint64_t first_sector, std::vector<Byte>& data) override {
    fill_numbers(cell_, first_sector, iv_);
    for (std::size_t i = 0; i < cell_.sectors(); ++i) {
      Byte* const iv = &iv_[16 * i];
      if (essiv_) encrypt_block(iv);
      gnutls_cipher_set_iv(data_.get(), iv, 16);
      Byte* const sector = data.data() + i * cell_.sector_bytes;
      require(cell_.encrypt ? gnutls_cipher_encrypt(data_.get(), sector, cell_.sector_bytes)
                            : gnutls_cipher_decrypt(data_.get(), sector, cell_.sector_bytes),
              "crypt");
    }
  }

 private:
  // It has no ECB: CBC with an IV of zeros, block by block.
  void encrypt_block(Byte* block) {
    Byte zero[16] = {};
    gnutls_cipher_set_iv(essiv_.get(), zero, 16);
    require(gnutls_cipher_encrypt(essiv_.get(), block, 16), "crypt");
  }

  SectorCase cell_;
  PeerPlan plan_;
  std::vector<Byte> iv_;
  Handle data_, essiv_;
};

}  // namespace

std::unique_ptr<Peer> make_gnutls(const SectorCase& cell) {
  if (plan_of(cell).iv == PeerPlan::Iv::none) return nullptr;
  return std::make_unique<GnuTls>(cell);
}

}  // namespace nbdcrypt::bench
