// SPDX-License-Identifier: Apache-2.0
#include "bench/peers/modes.h"

#include <gcrypt.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <map>
#include <stdexcept>

#include "bench/tables/timing.h"

namespace nbdcrypt::bench {
namespace {

using aes::Byte;
using Bytes = std::vector<Byte>;

void require(bool ok, const char* library, const ModeCell& cell) {
  if (!ok) throw std::runtime_error(std::string(library) + ": " + cell.mode + " " + name_of(cell.work) + " failed");
}

/// A message in place, or to `out` for decryption of authenticated modes. The tag is made, not checked.
struct Message {
  const Byte* in;
  Byte* out;
  std::size_t bytes;
  Byte tag[16];
};

class OpenSsl {
 public:
  explicit OpenSsl(const ModeCell& cell) : cell_(cell), key_(mode_key(cell)), iv_(mode_iv(cell)) {
    const std::string name = "AES-" + std::to_string(cell.key_bits) + "-" + cell.mode;
    cipher_.reset(EVP_CIPHER_fetch(nullptr, name.c_str(), nullptr));
    if (!cipher_) return;
    check(EVP_CipherInit_ex2(c_.get(), cipher_.get(), nullptr, nullptr, encrypts(), nullptr));
    if (cell.authenticated()) {
      const int iv_bytes = static_cast<int>(iv_.size());
      check(EVP_CIPHER_CTX_ctrl(c_.get(), EVP_CTRL_AEAD_SET_IVLEN, iv_bytes, nullptr));
      // The key schedule of CCM takes in how long the tag is.
      Byte tag[16] = {};
      if (cell.mode == "CCM") {
        check(EVP_CIPHER_CTX_ctrl(c_.get(), EVP_CTRL_AEAD_SET_TAG, 16, encrypts() ? nullptr : tag));
      }
    }
    check(EVP_CipherInit_ex2(c_.get(), nullptr, key_.data(), iv_.data(), -1, nullptr));
    check(EVP_CIPHER_CTX_set_padding(c_.get(), 0));
  }

  bool exists() const { return cipher_ != nullptr; }

  void run(Message& m) {
    // Null for the key: the round keys stay.
    const bool ccm = cell_.mode == "CCM";
    if (!encrypts() && cell_.authenticated()) {
      check(EVP_CIPHER_CTX_ctrl(c_.get(), EVP_CTRL_AEAD_SET_TAG, 16, m.tag));
    }
    check(EVP_CipherInit_ex2(c_.get(), nullptr, nullptr, iv_.data(), -1, nullptr));
    int written = 0, more = 0;
    const int bytes = static_cast<int>(m.bytes);
    if (cell_.work == Work::authenticate) {
      Byte nothing[16];
      if (ccm) check(EVP_CipherUpdate(c_.get(), nullptr, &written, nullptr, 0));
      check(EVP_CipherUpdate(c_.get(), nullptr, &written, m.in, bytes));
      if (ccm) check(EVP_CipherUpdate(c_.get(), nothing, &written, nothing, 0));
      check(EVP_CipherFinal_ex(c_.get(), nothing, &more));
    } else {
      if (ccm) check(EVP_CipherUpdate(c_.get(), nullptr, &written, nullptr, bytes));
      check(EVP_CipherUpdate(c_.get(), m.out, &written, m.in, bytes));
      if (cell_.authenticated() && !(ccm && !encrypts())) check(EVP_CipherFinal_ex(c_.get(), m.out + written, &more));
    }
    if (cell_.authenticated() && encrypts()) check(EVP_CIPHER_CTX_ctrl(c_.get(), EVP_CTRL_AEAD_GET_TAG, 16, m.tag));
  }

 private:
  struct Free {
    void operator()(EVP_CIPHER_CTX* c) const { EVP_CIPHER_CTX_free(c); }
    void operator()(EVP_CIPHER* c) const { EVP_CIPHER_free(c); }
  };
  bool encrypts() const { return cell_.work != Work::decrypt; }
  void check(int ok) const { require(ok == 1, "openssl", cell_); }

  ModeCell cell_;
  Bytes key_, iv_;
  std::unique_ptr<EVP_CIPHER, Free> cipher_;
  std::unique_ptr<EVP_CIPHER_CTX, Free> c_{EVP_CIPHER_CTX_new()};
};

int gcrypt_mode(const std::string& mode) {
  static const std::map<std::string, int> modes = {{"ECB", GCRY_CIPHER_MODE_ECB}, {"CBC", GCRY_CIPHER_MODE_CBC},
                                                   {"CFB", GCRY_CIPHER_MODE_CFB}, {"OFB", GCRY_CIPHER_MODE_OFB},
                                                   {"CTR", GCRY_CIPHER_MODE_CTR}, {"XTS", GCRY_CIPHER_MODE_XTS},
                                                   {"CCM", GCRY_CIPHER_MODE_CCM}, {"EAX", GCRY_CIPHER_MODE_EAX},
                                                   {"GCM", GCRY_CIPHER_MODE_GCM}, {"OCB", GCRY_CIPHER_MODE_OCB}};
  return modes.at(mode);
}

class Libgcrypt {
 public:
  explicit Libgcrypt(const ModeCell& cell) : cell_(cell), iv_(mode_iv(cell)) {
    static const bool ready =
        gcry_check_version(GCRYPT_VERSION) && gcry_control(GCRYCTL_INITIALIZATION_FINISHED, 0) == 0;
    const int algorithm = cell.key_bits == 128   ? GCRY_CIPHER_AES128
                          : cell.key_bits == 192 ? GCRY_CIPHER_AES192
                                                 : GCRY_CIPHER_AES256;
    gcry_cipher_hd_t handle = nullptr;
    require(ready && gcry_cipher_open(&handle, algorithm, gcrypt_mode(cell.mode), 0) == 0, "libgcrypt", cell);
    handle_.reset(handle);
    const Bytes key = mode_key(cell);
    check(gcry_cipher_setkey(handle, key.data(), key.size()));
  }

  bool exists() const { return true; }

  void run(Message& m) {
    gcry_cipher_hd_t const c = handle_.get();
    if (cell_.mode == "CTR") check(gcry_cipher_setctr(c, iv_.data(), iv_.size()));
    if (cell_.mode != "CTR" && cell_.mode != "ECB") check(gcry_cipher_setiv(c, iv_.data(), iv_.size()));
    const bool authenticates = cell_.work == Work::authenticate;
    if (cell_.mode == "CCM") {
      std::uint64_t lengths[3] = {authenticates ? 0 : m.bytes, authenticates ? m.bytes : 0, 16};
      check(gcry_cipher_ctl(c, GCRYCTL_SET_CCM_LENGTHS, lengths, sizeof lengths));
    }
    if (cell_.mode == "OCB") check(gcry_cipher_final(c));
    if (authenticates) {
      Byte nothing = 0;
      check(gcry_cipher_authenticate(c, m.in, m.bytes));
      check(gcry_cipher_encrypt(c, &nothing, 0, &nothing, 0));
    } else {
      const auto crypt = cell_.work == Work::encrypt ? gcry_cipher_encrypt : gcry_cipher_decrypt;
      check(crypt(c, m.out, m.bytes, m.in, m.bytes));
    }
    if (!cell_.authenticated()) return;
    check(cell_.work == Work::decrypt ? gcry_cipher_checktag(c, m.tag, 16) : gcry_cipher_gettag(c, m.tag, 16));
  }

 private:
  struct Close {
    void operator()(gcry_cipher_hd_t handle) const { gcry_cipher_close(handle); }
  };
  void check(gcry_error_t error) const { require(error == 0, "libgcrypt", cell_); }

  ModeCell cell_;
  Bytes iv_;
  std::unique_ptr<gcry_cipher_handle, Close> handle_;
};

/// What a pass works on: `sealed` for each length, where authentic messages are opened.
template <class Library>
class Runner {
 public:
  explicit Runner(const ModeCell& cell) : cell_(cell), library_(cell) {}

  bool exists() const { return library_.exists(); }

  void run(std::size_t bytes) {
    Message m{.in = data_.data(), .out = data_.data(), .bytes = bytes, .tag = {}};
    if (cell_.authenticated() && cell_.work == Work::decrypt) {
      const Bytes& sealed = sealed_message(bytes);
      m.in = sealed.data(), m.out = out_.data();
      std::copy_n(sealed.end() - 16, 16, m.tag);
    }
    library_.run(m);
  }

  /// As expected_result().
  Bytes result(std::size_t bytes) {
    Bytes data = mode_data(bytes);
    Message m{.in = data.data(), .out = data.data(), .bytes = bytes, .tag = {}};
    const bool opens = cell_.authenticated() && cell_.work == Work::decrypt;
    if (opens) {
      data = sealed_message(bytes);
      std::copy_n(data.end() - 16, 16, m.tag);
      data.resize(bytes);
      m.in = m.out = data.data();
    }
    library_.run(m);
    if (cell_.work == Work::authenticate) data.clear();
    if (cell_.authenticated() && !opens) data.insert(data.end(), m.tag, m.tag + 16);
    return data;
  }

 private:
  const Bytes& sealed_message(std::size_t bytes) {
    Bytes& sealed = sealed_[bytes];
    if (sealed.empty()) sealed = expected_result({cell_.mode, cell_.key_bits, Work::encrypt}, bytes);
    return sealed;
  }

  ModeCell cell_;
  Library library_;
  Bytes data_ = mode_data(kMessageBytes), out_ = Bytes(kMessageBytes);
  std::map<std::size_t, Bytes> sealed_;
};

template <class Library>
Pass pass_of(const ModeCell& cell) {
  const auto runner = std::make_shared<Runner<Library>>(cell);
  if (!runner->exists()) return {};
  if (runner->result(1424) != expected_result(cell, 1424)) {
    throw std::runtime_error(cell.mode + " " + name_of(cell.work) + ": a library differs from ours");
  }
  return [runner](std::size_t bytes) { runner->run(bytes); };
}

}  // namespace

Pass openssl_pass(const ModeCell& cell) { return pass_of<OpenSsl>(cell); }
Pass libgcrypt_pass(const ModeCell& cell) { return pass_of<Libgcrypt>(cell); }

std::string openssl_name() { return std::string("openssl ") + OpenSSL_version(OPENSSL_VERSION_STRING); }
std::string libgcrypt_name() { return std::string("libgcrypt ") + gcry_check_version(nullptr); }

std::vector<Row> mode_peer_rows(const aes::Backend& backend, std::size_t key_bits, double seconds) {
  std::vector<Row> rows;
  for (const ModeCell& cell : mode_cells(key_bits)) {
    struct Entry {
      std::string library;
      Pass pass;
    };
    std::vector<Entry> entries{{"nbdcrypt", make_pass(cell, backend)},
                               {libgcrypt_name(), libgcrypt_pass(cell)},
                               {openssl_name(), openssl_pass(cell)}};
    std::erase_if(entries, [](const Entry& entry) { return !entry.pass; });
    std::vector<std::function<void()>> passes;
    for (const Entry& entry : entries) passes.push_back([&entry] { entry.pass(kMessageBytes); });
    const auto results = measure(passes, kMessageBytes, seconds);
    for (std::size_t i = 0; i < results.size(); ++i) {
      Row row = cell.row("modes", entries[i].library, i == 0 ? backend.name : "-");
      row.set("mb_per_s", results[i].mb_per_s).set("cycles_per_byte", cycles_per_byte(results[i].mb_per_s));
      rows.push_back(row.set("ratio", results[0].mb_per_s / results[i].mb_per_s).set("spread", results[i].spread));
    }
  }
  return rows;
}

}  // namespace nbdcrypt::bench
