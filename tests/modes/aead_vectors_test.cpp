// SPDX-License-Identifier: Apache-2.0
//
// Published figures of the authenticated modes, on every backend and offload level. aead_witness_test holds the same
// files against libgcrypt and OpenSSL.
#include "tests/modes/aead_samples.h"

namespace nbdcrypt::modes {
namespace {

using test::Byte;
using test::Bytes;
using test::Sealed;

class AeadFigures : public testing::TestWithParam<const aes::Backend*> {};
INSTANTIATE_TEST_SUITE_P(, AeadFigures, testing::ValuesIn(test::backends()), test::backend_name);

void check(const Aead& aead, const Sealed& message) {
  Bytes out(message.plain.size()), tag(message.tag.size());
  aead.seal(message.nonce, message.ad, message.plain, out.data(), tag);
  EXPECT_EQ(out, message.cipher);
  EXPECT_EQ(tag, message.tag);
  Bytes back(message.cipher.size());
  EXPECT_TRUE(aead.open(message.nonce, message.ad, message.cipher, back.data(), message.tag));
  EXPECT_EQ(back, message.plain);
}

TEST_P(AeadFigures, AreReproduced) {
  for (const test::AeadFile& file : test::kAeadFiles) {
    test::for_each_message(file, [&](AeadMode mode, const Sealed& message, const std::string& where) {
      SCOPED_TRACE(where);
      for (const Offload offload : test::kLevels) check(Aead(*GetParam(), mode, message.key, offload), message);
    });
  }
}

/// RFC 7253, appendix A: 384 messages of all lengths below 128 bytes, their ciphertexts sealed once more.
Bytes iterate(const aes::Backend& backend, std::size_t key_bits, std::size_t tag_bits) {
  Bytes key(key_bits / 8), all;
  key.back() = static_cast<Byte>(tag_bits);
  const Aead ocb(backend, AeadMode::ocb, key);
  const auto seal = [&](std::uint32_t number, const Bytes& ad, const Bytes& plain) {
    Bytes nonce(12), out(plain.size()), tag(tag_bits / 8);
    nonce[10] = static_cast<Byte>(number >> 8), nonce[11] = static_cast<Byte>(number);
    ocb.seal(nonce, ad, plain, out.data(), tag);
    out.insert(out.end(), tag.begin(), tag.end());
    return out;
  };
  for (std::uint32_t i = 0; i < 128; ++i) {
    const Bytes zeros(i);
    const Bytes parts[] = {seal(3 * i + 1, zeros, zeros), seal(3 * i + 2, {}, zeros), seal(3 * i + 3, zeros, {})};
    for (const Bytes& part : parts) all.insert(all.end(), part.begin(), part.end());
  }
  return seal(385, all, {});
}

TEST_P(AeadFigures, OfTheIterationOfRfc7253AreReproduced) {
  std::size_t records = 0;
  test::for_each_record("ocb_rfc7253.vec", [&](const test::VecRecord& record) {
    if (record.section() != "OCB iterated") return void(test::sealed_of(record));
    ++records;
    const auto bits = [&](const char* name) { return static_cast<std::size_t>(record.number(name)); };
    EXPECT_EQ(iterate(*GetParam(), bits("KeyBits"), bits("TagBits")), record.bytes("Tag"));
  });
  EXPECT_EQ(records, 9u);
}

}  // namespace
}  // namespace nbdcrypt::modes
