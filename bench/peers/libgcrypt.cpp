// SPDX-License-Identifier: Apache-2.0
#include <gcrypt.h>

#include <stdexcept>

#include "bench/peers/peer.h"

namespace nbdcrypt::bench {
namespace {

void require(gcry_error_t error, const char* call) {
  if (error) throw std::runtime_error(std::string("libgcrypt: ") + call + ": " + gcry_strerror(error));
}

// The library wants to be told that nobody needs its secure memory, once, before anything else.
void initialise() {
  static const bool done = [] {
    if (!gcry_check_version(GCRYPT_VERSION)) throw std::runtime_error("libgcrypt: older than its header");
    require(gcry_control(GCRYCTL_DISABLE_SECMEM, 0), "disable secure memory");
    require(gcry_control(GCRYCTL_INITIALIZATION_FINISHED, 0), "initialise");
    return true;
  }();
  static_cast<void>(done);
}

struct Close {
  void operator()(gcry_cipher_hd_t handle) const { gcry_cipher_close(handle); }
};
using Handle = std::unique_ptr<gcry_cipher_handle, Close>;

Handle make_handle(int mode, std::size_t cipher_bits, const std::vector<Byte>& key) {
  gcry_cipher_hd_t handle = nullptr;
  require(gcry_cipher_open(&handle, cipher_bits == 128 ? GCRY_CIPHER_AES128 : GCRY_CIPHER_AES256, mode, 0), "open");
  Handle owned(handle);
  require(gcry_cipher_setkey(handle, key.data(), key.size()), "set key");
  return owned;
}

class Libgcrypt final : public Peer {
 public:
  explicit Libgcrypt(const SectorCase& cell) : cell_(cell), plan_(plan_of(cell)), iv_(cell.sectors() * 16) {
    initialise();
    const int mode = plan_.xts                        ? GCRY_CIPHER_MODE_XTS
                     : plan_.iv == PeerPlan::Iv::none ? GCRY_CIPHER_MODE_ECB
                                                      : GCRY_CIPHER_MODE_CBC;
    data_ = make_handle(mode, plan_.cipher_bits, bench_key(cell.key_bits));
    if (plan_.iv == PeerPlan::Iv::essiv) essiv_ = make_handle(GCRY_CIPHER_MODE_ECB, 256, bench_essiv_key());
  }

  std::string name() const override { return std::string("libgcrypt ") + gcry_check_version(nullptr); }

  void run(std::uint64_t first_sector, std::vector<Byte>& data) override {
    if (plan_.iv == PeerPlan::Iv::none) return crypt(data.data(), data.size());
    fill_numbers(cell_, first_sector, iv_);
    if (essiv_) require(gcry_cipher_encrypt(essiv_.get(), iv_.data(), iv_.size(), nullptr, 0), "encrypt");
    for (std::size_t i = 0; i < cell_.sectors(); ++i) {
      require(gcry_cipher_setiv(data_.get(), &iv_[16 * i], 16), "set iv");
      crypt(data.data() + i * cell_.sector_bytes, cell_.sector_bytes);
    }
  }

 private:
  void crypt(Byte* data, std::size_t bytes) {
    require(cell_.encrypt ? gcry_cipher_encrypt(data_.get(), data, bytes, nullptr, 0)
                          : gcry_cipher_decrypt(data_.get(), data, bytes, nullptr, 0),
            "crypt");
  }

  SectorCase cell_;
  PeerPlan plan_;
  std::vector<Byte> iv_;
  Handle data_, essiv_;
};

}  // namespace

std::unique_ptr<Peer> make_libgcrypt(const SectorCase& cell) { return std::make_unique<Libgcrypt>(cell); }

}  // namespace nbdcrypt::bench
