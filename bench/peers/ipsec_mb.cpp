// SPDX-License-Identifier: Apache-2.0
//
// Intel's Multi-Buffer Crypto for IPsec, through its job interface: many sectors in flight, as it is meant to be used.
#include <intel-ipsec-mb.h>

#include <stdexcept>

#include "bench/peers/peer.h"

namespace nbdcrypt::bench {
namespace {

struct Free {
  void operator()(IMB_MGR* manager) const { free_mb_mgr(manager); }
};

struct alignas(16) Schedule {
  Byte encrypt[16 * 15], decrypt[16 * 15];
};

class IpsecMb final : public Peer {
 public:
  explicit IpsecMb(const SectorCase& cell)
      : cell_(cell), plan_(plan_of(cell)), iv_(cell.sectors() * 16), manager_(alloc_mb_mgr(0)) {
    if (!manager_) throw std::runtime_error("ipsec-mb: alloc_mb_mgr failed");
    init_mb_mgr_auto(manager_.get(), nullptr);
    expand(bench_key(cell.key_bits), data_);
    if (plan_.iv == PeerPlan::Iv::essiv) expand(bench_essiv_key(), essiv_);
  }

  std::string name() const override { return std::string("ipsec-mb ") + imb_get_version_str(); }

  void run(std::uint64_t first_sector, std::vector<Byte>& data) override {
    if (plan_.iv == PeerPlan::Iv::none) {
      submit(IMB_CIPHER_ECB, data_, plan_.cipher_bits, cell_.encrypt, data.data(), data.size(), nullptr);
      return finish();
    }
    fill_numbers(cell_, first_sector, iv_);
    if (plan_.iv == PeerPlan::Iv::essiv) {
      submit(IMB_CIPHER_ECB, essiv_, 256, true, iv_.data(), iv_.size(), nullptr);
      finish();
    }
    for (std::size_t i = 0; i < cell_.sectors(); ++i) {
      submit(IMB_CIPHER_CBC, data_, plan_.cipher_bits, cell_.encrypt, data.data() + i * cell_.sector_bytes,
             cell_.sector_bytes, &iv_[16 * i]);
    }
    finish();
  }

 private:
  void expand(const std::vector<Byte>& key, Schedule& to) {
    if (key.size() == 16)
      IMB_AES_KEYEXP_128(manager_.get(), key.data(), to.encrypt, to.decrypt);
    else
      IMB_AES_KEYEXP_256(manager_.get(), key.data(), to.encrypt, to.decrypt);
  }

  void submit(IMB_CIPHER_MODE mode, const Schedule& key, std::size_t key_bits, bool encrypt, Byte* data,
              std::size_t bytes, const Byte* iv) {
    IMB_JOB* const job = IMB_GET_NEXT_JOB(manager_.get());
    *job = {};
    job->cipher_mode = mode;
    job->cipher_direction = encrypt ? IMB_DIR_ENCRYPT : IMB_DIR_DECRYPT;
    job->chain_order = encrypt ? IMB_ORDER_CIPHER_HASH : IMB_ORDER_HASH_CIPHER;
    job->hash_alg = IMB_AUTH_NULL;
    job->enc_keys = key.encrypt;
    job->dec_keys = key.decrypt;
    job->key_len_in_bytes = key_bits / 8;
    job->src = job->dst = data;
    job->iv = iv;
    job->iv_len_in_bytes = iv == nullptr ? 0 : 16;
    job->msg_len_to_cipher_in_bytes = bytes;
    check(IMB_SUBMIT_JOB_NOCHECK(manager_.get()));
  }
  void finish() {
    while (IMB_JOB* const job = IMB_FLUSH_JOB(manager_.get())) check(job);
  }
  static void check(const IMB_JOB* job) {
    if (job != nullptr && job->status != IMB_STATUS_COMPLETED) throw std::runtime_error("ipsec-mb: a job failed");
  }

  SectorCase cell_;
  PeerPlan plan_;
  std::vector<Byte> iv_;
  std::unique_ptr<IMB_MGR, Free> manager_;
  Schedule data_, essiv_;
};

}  // namespace

std::unique_ptr<Peer> make_ipsec_mb(const SectorCase& cell) {
  if (plan_of(cell).xts) return nullptr;
  return std::make_unique<IpsecMb>(cell);
}

}  // namespace nbdcrypt::bench
