// SPDX-License-Identifier: Apache-2.0
#include "bench/tables/selftest.h"

#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <sstream>

#include "aes/key_schedule.h"
#include "bench/tables/selftest_vectors.h"
#include "bench/tables/tables.h"
#include "modes/aead.h"
#include "tests/vectors/vec_file.h"

namespace nbdcrypt::bench {
namespace {

using aes::Byte;
using test::VecRecord;
using Bytes = std::vector<Byte>;

constexpr modes::Offload kLevels[] = {modes::Offload::off, modes::Offload::buffer, modes::Offload::batch};

struct Subject {
  const aes::Backend& backend;
  modes::Offload offload;
};

Bytes run_chain(const Subject& subject, aes::Op op, std::span<const Byte> key, Bytes iv, const Bytes& in) {
  aes::Key expanded{};
  if (!aes::make_key(subject.backend, key, expanded)) throw std::runtime_error("no AES key of this length");
  Bytes out(in.size());
  const aes::Run run{.in = in.data(), .out = out.data(), .iv = iv.data(), .unit = in.size(), .count = 1};
  modes::Chain(subject.backend, op, subject.offload).run(expanded, run);
  return out;
}

struct Ops {
  aes::Op encrypt, decrypt;
};

bool chain_is_right(const Subject& subject, const VecRecord& record) {
  static const std::map<std::string, Ops> ops = {{"ECB", {aes::ecb_enc, aes::ecb_dec}},
                                                 {"CBC", {aes::cbc_enc, aes::cbc_dec}},
                                                 {"CFB128", {aes::cfb_enc, aes::cfb_dec}},
                                                 {"OFB", {aes::ofb, aes::ofb}},
                                                 {"CTR", {aes::ctr, aes::ctr}}};
  const auto [encrypt, decrypt] = ops.at(record.section());
  const Bytes key = record.bytes("Key"), plain = record.bytes("Plaintext"), cipher = record.bytes("Ciphertext");
  const Bytes iv = record.section() == "ECB" ? Bytes(16) : record.bytes("IV");
  return run_chain(subject, encrypt, key, iv, plain) == cipher && run_chain(subject, decrypt, key, iv, cipher) == plain;
}

bool xts_is_right(const Subject& subject, const VecRecord& record) {
  record.text("Vector");
  const Bytes key = record.bytes("Key"), plain = record.bytes("Plaintext"), cipher = record.bytes("Ciphertext");
  const auto first = std::span(key).first(key.size() / 2), second = std::span(key).last(key.size() / 2);
  const Bytes tweak = run_chain(subject, aes::ecb_enc, second, Bytes(16), record.bytes("Tweak"));
  return run_chain(subject, aes::xts_enc, first, tweak, plain) == cipher &&
         run_chain(subject, aes::xts_dec, first, tweak, cipher) == plain;
}

modes::AeadMode mode_of(const std::string& name) {
  using modes::AeadMode;
  for (const AeadMode mode : {AeadMode::ccm, AeadMode::eax, AeadMode::gcm, AeadMode::ocb}) {
    if (name == modes::name_of(mode)) return mode;
  }
  throw std::runtime_error("no mode " + name);
}

bool aead_is_right(const Subject& subject, const VecRecord& record) {
  const Bytes nonce = record.bytes("Nonce"), plain = record.bytes("Plaintext"), cipher = record.bytes("Ciphertext");
  const Bytes key = record.bytes("Key"), tag = record.bytes("Tag"), one = record.bytes("AD");
  Bytes ad, sealed(plain.size()), made(tag.size()), opened(plain.size());
  for (auto i = record.has("ADRepeat") ? record.number("ADRepeat") : 1; i > 0; --i)
    ad.insert(ad.end(), one.begin(), one.end());
  const modes::Aead aead(subject.backend, mode_of(record.section()), key, subject.offload);
  aead.seal(nonce, ad, plain, sealed.data(), made);
  return sealed == cipher && made == tag && aead.open(nonce, ad, cipher, opened.data(), tag) && opened == plain;
}

struct Suite {
  const char *name, *text;
  bool (*is_right)(const Subject&, const VecRecord&);
};

const Suite kSuites[] = {{"SP 800-38A", vectors::sp800_38a, chain_is_right},
                         {"IEEE 1619", vectors::xts_ieee1619, xts_is_right},
                         {"SP 800-38C", vectors::ccm_sp800_38c, aead_is_right},
                         {"RFC 3610", vectors::ccm_rfc3610, aead_is_right},
                         {"EAX", vectors::eax, aead_is_right},
                         {"GCM", vectors::gcm, aead_is_right},
                         {"RFC 7253", vectors::ocb_rfc7253, aead_is_right}};

bool test_backend(const aes::Backend& backend) {
  std::size_t right = 0, wrong = 0;
  for (const Suite& suite : kSuites) {
    std::istringstream text(suite.text);
    test::for_each_record(text, suite.name, [&](const VecRecord& record) {
      if (record.section() == "OCB iterated") {  // hundreds of messages each: the tests run them
        record.text("KeyBits"), record.text("TagBits"), record.text("Tag");
        return;
      }
      for (const modes::Offload offload : kLevels) {
        const bool ok = suite.is_right({backend, offload}, record);
        ++(ok ? right : wrong);
        if (!ok) std::cout << backend.name << ": " << record.where() << " " << modes::name_of(offload) << ": WRONG\n";
      }
    });
  }
  std::cout << backend.name << ": " << right << " known answers right, " << wrong << " wrong\n";
  return wrong == 0;
}

}  // namespace

bool run_selftest(const std::string& backend) {
  bool all_right = true;
  for (const aes::Backend* one : chosen_backends(backend)) all_right = test_backend(*one) && all_right;
  return all_right;
}

}  // namespace nbdcrypt::bench
