// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "aes/key_schedule.h"
#include "aes/registry.h"
#include "tests/aes/support.h"
#include "tests/vectors/vec_file.h"

namespace nbdcrypt::test {
namespace {

class KnownAnswers : public testing::TestWithParam<const aes::Backend*> {
 protected:
  const aes::Backend& backend() const { return *GetParam(); }

  aes::Key key_of(const VecRecord& record) const {
    aes::Key key;
    EXPECT_TRUE(aes::make_key(backend(), record.bytes("Key"), key)) << record.where();
    return key;
  }
};

INSTANTIATE_TEST_SUITE_P(Backends, KnownAnswers, testing::ValuesIn(tested_backends()), test_name);

TEST_P(KnownAnswers, Fips197) {
  EXPECT_EQ(6u, for_each_record("fips197.vec", [&](const VecRecord& record) {
              const aes::Key key = key_of(record);
              if (record.section() == "KeyExpansion") {
                const Bytes words = record.bytes("Words");
                ASSERT_EQ(16u * (key.rounds + 1), words.size()) << record.where();
                EXPECT_EQ(0, std::memcmp(key.enc, words.data(), words.size())) << record.where();
                return;
              }
              const Bytes plain = record.bytes("Plaintext"), cipher = record.bytes("Ciphertext");
              Bytes out(16);
              backend().encrypt(key, plain.data(), out.data(), 1);
              EXPECT_EQ(cipher, out) << record.where();
              backend().decrypt(key, cipher.data(), out.data(), 1);
              EXPECT_EQ(plain, out) << record.where();
            }));
}

/// The offload kernel of the backend, or the model where it has none: both must give the published answers.
void run_or_model(const aes::Backend& backend, aes::Op op, const aes::Key& key, const aes::Run& run) {
  backend.offload.of[op] ? backend.offload.of[op](key, run) : model(op, key, run);
}

TEST_P(KnownAnswers, Sp800_38a) {
  struct Mode {
    const char* section;
    aes::Op encrypt, decrypt;
  };
  constexpr Mode kModes[] = {{"ECB", aes::ecb_enc, aes::ecb_dec},
                             {"CBC", aes::cbc_enc, aes::cbc_dec},
                             {"CFB128", aes::cfb_enc, aes::cfb_dec},
                             {"OFB", aes::ofb, aes::ofb},
                             {"CTR", aes::ctr, aes::ctr}};
  EXPECT_EQ(15u, for_each_record("sp800-38a.vec", [&](const VecRecord& record) {
              const auto mode = std::find_if(std::begin(kModes), std::end(kModes),
                                             [&](const Mode& m) { return record.section() == m.section; });
              ASSERT_NE(std::end(kModes), mode) << record.where();
              const aes::Key key = key_of(record);
              const Bytes plain = record.bytes("Plaintext"), cipher = record.bytes("Ciphertext");
              const Bytes iv = record.section() == "ECB" ? Bytes(16) : record.bytes("IV");
              Bytes out(plain.size()), slot = iv;
              run_or_model(backend(), mode->encrypt, key, {plain.data(), out.data(), slot.data(), plain.size(), 1});
              EXPECT_EQ(cipher, out) << record.where();
              slot = iv;
              run_or_model(backend(), mode->decrypt, key, {cipher.data(), out.data(), slot.data(), cipher.size(), 1});
              EXPECT_EQ(plain, out) << record.where();
            }));
}

TEST_P(KnownAnswers, ExpandsRandomKeysLikeThePortableSchedule) {
  for (std::uint64_t seed = 0; seed < 200; seed++) {
    for (const std::size_t size : kKeyBytes) {
      const Bytes bytes = random_bytes(size, seed);
      aes::Key ours, portable;
      backend().expand_key(ours, bytes.data(), size);
      aes::expand_key(portable, bytes.data(), size);
      ASSERT_EQ(portable.rounds, ours.rounds);
      const std::size_t used = kBlockBytes * (ours.rounds + 1);
      ASSERT_EQ(0, std::memcmp(portable.enc, ours.enc, used)) << "seed " << seed << ", " << size << " bytes";
      ASSERT_EQ(0, std::memcmp(portable.dec, ours.dec, used)) << "seed " << seed << ", " << size << " bytes";
    }
  }
}

}  // namespace
}  // namespace nbdcrypt::test
