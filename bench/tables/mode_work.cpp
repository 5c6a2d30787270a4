// SPDX-License-Identifier: Apache-2.0
#include "bench/tables/mode_work.h"

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <stdexcept>

#include "aes/key_schedule.h"
#include "aes/registry.h"
#include "modes/aead.h"

namespace nbdcrypt::bench {
namespace {

using aes::Byte;
using Bytes = std::vector<Byte>;

struct ChainMode {
  const char* mode;
  aes::Op encrypt, decrypt;
};
constexpr ChainMode kChainModes[] = {{"ECB", aes::ecb_enc, aes::ecb_dec}, {"CBC", aes::cbc_enc, aes::cbc_dec},
                                     {"CFB", aes::cfb_enc, aes::cfb_dec}, {"OFB", aes::ofb, aes::ofb},
                                     {"CTR", aes::ctr, aes::ctr},         {"XTS", aes::xts_enc, aes::xts_dec}};
constexpr const char* kAeadModes[] = {"CCM", "EAX", "GCM", "OCB"};

aes::Key key_of(const aes::Backend& backend, const Bytes& bytes, std::size_t at, std::size_t size) {
  aes::Key key{};
  if (!aes::make_key(backend, std::span(bytes).subspan(at, size), key))
    throw std::runtime_error("no AES key of this length");
  return key;
}

/// A mode that is a chain. Every message begins with the same IV; the tweak of XTS is encrypted each time.
class ChainWork {
 public:
  ChainWork(const ModeCell& cell, const aes::Backend& backend, modes::Offload offload)
      : xts_(cell.mode == "XTS"),
        key_(key_of(backend, mode_key(cell), 0, cell.key_bits / 8)),
        tweak_key_(key_of(backend, mode_key(cell), xts_ ? cell.key_bits / 8 : 0, cell.key_bits / 8)),
        start_(mode_iv(cell)),
        chain_(backend, op_of(cell), offload) {}

  void run(Byte* data, std::size_t bytes) const {
    Byte iv[16];
    std::copy(start_.begin(), start_.end(), iv);
    if (xts_) chain_.backend().encrypt(tweak_key_, iv, iv, 1);
    chain_.run(key_, {.in = data, .out = data, .iv = iv, .unit = bytes, .count = 1});
  }

 private:
  static aes::Op op_of(const ModeCell& cell) {
    const auto* const mode = std::ranges::find(kChainModes, cell.mode, &ChainMode::mode);
    if (mode == std::end(kChainModes)) throw std::runtime_error("no mode " + cell.mode);
    return cell.work == Work::encrypt ? mode->encrypt : mode->decrypt;
  }

  bool xts_;
  aes::Key key_, tweak_key_;
  Bytes start_;
  modes::Chain chain_;
};

modes::AeadMode aead_mode(const std::string& name) {
  for (const modes::AeadMode mode : {modes::AeadMode::ccm, modes::AeadMode::eax, modes::AeadMode::gcm}) {
    if (name == modes::name_of(mode)) return mode;
  }
  return modes::AeadMode::ocb;
}

/// An authenticated mode. Messages to be opened are sealed once for each length.
class AeadWork {
 public:
  AeadWork(const ModeCell& cell, const aes::Backend& backend, modes::Offload offload)
      : work_(cell.work),
        nonce_(mode_iv(cell)),
        out_(kMessageBytes),
        aead_(backend, aead_mode(cell.mode), mode_key(cell), offload) {}

  /// Returns where the result is.
  Byte* run(Byte* data, std::size_t bytes) {
    if (work_ == Work::encrypt) aead_.seal(nonce_, {}, {data, bytes}, data, tag_);
    if (work_ == Work::authenticate) aead_.seal(nonce_, {data, bytes}, {}, nullptr, tag_);
    if (work_ != Work::decrypt) return data;
    Sealed& sealed = sealed_[bytes];
    if (sealed.text.empty()) {
      sealed.text.resize(bytes);
      aead_.seal(nonce_, {}, mode_data(bytes), sealed.text.data(), sealed.tag);
    }
    if (!aead_.open(nonce_, {}, sealed.text, out_.data(), sealed.tag)) throw std::runtime_error("wrong tag");
    return out_.data();
  }

  const Byte* tag() const { return tag_; }

 private:
  struct Sealed {
    Bytes text;
    Byte tag[16];
  };

  Work work_;
  Bytes nonce_, out_;
  modes::Aead aead_;
  Byte tag_[16] = {};
  std::map<std::size_t, Sealed> sealed_;
};

Bytes result_of(const ModeCell& cell, const aes::Backend& backend, modes::Offload offload, std::size_t bytes) {
  Bytes data = mode_data(bytes);
  if (!cell.authenticated()) {
    ChainWork(cell, backend, offload).run(data.data(), bytes);
    return data;
  }
  AeadWork work(cell, backend, offload);
  const Byte* const at = work.run(data.data(), bytes);
  Bytes result(at, at + (cell.work == Work::authenticate ? 0 : bytes));
  if (cell.work != Work::decrypt) result.insert(result.end(), work.tag(), work.tag() + 16);
  return result;
}

}  // namespace

const char* name_of(Work work) noexcept {
  return work == Work::encrypt ? "enc" : work == Work::decrypt ? "dec" : "auth";
}

bool ModeCell::authenticated() const { return std::ranges::find(kAeadModes, mode) != std::end(kAeadModes); }

Row ModeCell::row(const char* table, const std::string& library, const std::string& backend) const {
  Row row;
  row.set("table", table).set("library", library).set("backend", backend);
  return row.set("mode", mode).set("direction", name_of(work)).set("key_bits", key_bits);
}

std::vector<ModeCell> mode_cells(std::size_t key_bits) {
  std::vector<ModeCell> cells;
  for (const ChainMode& mode : kChainModes) {
    for (const Work work : {Work::encrypt, Work::decrypt}) cells.push_back({mode.mode, key_bits, work});
  }
  for (const char* mode : kAeadModes) {
    for (const Work work : {Work::encrypt, Work::decrypt, Work::authenticate}) cells.push_back({mode, key_bits, work});
  }
  return cells;
}

std::vector<Byte> mode_key(const ModeCell& cell) {
  Bytes key(cell.key_bytes());
  for (std::size_t i = 0; i < key.size(); ++i) key[i] = static_cast<Byte>(7 * i + 1);
  return key;
}

std::vector<Byte> mode_iv(const ModeCell& cell) {
  Bytes iv(!cell.authenticated() || cell.mode == "EAX" ? 16 : 12);
  for (std::size_t i = 0; i < iv.size(); ++i) iv[i] = static_cast<Byte>(11 * i + 3);
  return iv;
}

std::vector<Byte> mode_data(std::size_t bytes) {
  std::mt19937 random(1);
  Bytes data(bytes);
  for (Byte& byte : data) byte = static_cast<Byte>(random());
  return data;
}

std::vector<Byte> expected_result(const ModeCell& cell, std::size_t bytes) {
  return result_of(cell, *aes::by_name("generic"), modes::Offload::off, bytes);
}

Pass make_pass(const ModeCell& cell, const aes::Backend& backend, modes::Offload offload) {
  for (const std::size_t bytes : {std::size_t{16}, std::size_t{1424}}) {
    if (result_of(cell, backend, offload, bytes) == expected_result(cell, bytes)) continue;
    throw std::runtime_error(std::string(backend.name) + ": " + cell.mode + " " + name_of(cell.work) +
                             ": differs from generic");
  }
  const auto data = std::make_shared<Bytes>(mode_data(kMessageBytes));
  if (cell.authenticated()) {
    return [work = std::make_shared<AeadWork>(cell, backend, offload), data](std::size_t bytes) {
      work->run(data->data(), bytes);
    };
  }
  return [work = std::make_shared<ChainWork>(cell, backend, offload), data](std::size_t bytes) {
    work->run(data->data(), bytes);
  };
}

}  // namespace nbdcrypt::bench
