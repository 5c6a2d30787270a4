// SPDX-License-Identifier: Apache-2.0
//
// The published figures, and random messages of all backends, against libgcrypt and OpenSSL.
#include <random>

#include "tests/modes/aead_samples.h"
#include "tests/modes/aead_witness.h"

namespace nbdcrypt::modes {
namespace {

using test::Bytes;
using test::Sealed;

struct Named {
  const char* name;
  test::AeadWitness run;
};
constexpr Named kWitnesses[] = {{"OpenSSL", test::openssl_aead}, {"libgcrypt", test::gcrypt_aead}};

Bytes joined(Bytes a, const Bytes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

TEST(AeadWitnesses, ConfirmThePublishedFigures) {
  std::size_t confirmed[2] = {};
  for (const test::AeadFile& file : test::kAeadFiles) {
    test::for_each_message(file, [&](AeadMode mode, const Sealed& m, const std::string& where) {
      bool by_any = false;
      for (std::size_t i = 0; i < 2; ++i) {
        const auto result = kWitnesses[i].run(mode, m.key, m.nonce, m.ad, m.plain, m.tag.size());
        if (!result) continue;
        by_any = true;
        ++confirmed[i];
        EXPECT_EQ(*result, joined(m.cipher, m.tag)) << where << " " << kWitnesses[i].name;
      }
      EXPECT_TRUE(by_any) << where;
    });
  }
  EXPECT_EQ(confirmed[0], 24u + 4 + 18 + 17);  // OpenSSL has no EAX
  EXPECT_EQ(confirmed[1], 24u + 4 + 10 + 18 + 17);
}

class AeadAgainstWitnesses : public testing::TestWithParam<const aes::Backend*> {};
INSTANTIATE_TEST_SUITE_P(, AeadAgainstWitnesses, testing::ValuesIn(test::backends()), test::backend_name);

/// Lengths as a mode allows them, drawn at random.
struct Drawn {
  std::size_t nonce, tag;
};
Drawn draw(AeadMode mode, std::mt19937& random) {
  const auto of = [&](std::initializer_list<std::size_t> list) { return list.begin()[random() % list.size()]; };
  switch (mode) {
    case AeadMode::ccm:
      return {7 + random() % 7, of({4, 6, 8, 10, 12, 14, 16})};
    case AeadMode::eax:
      return {1 + random() % 40, 1 + random() % 16};
    case AeadMode::gcm:
      return {random() % 2 ? 12 : 1 + random() % 70, of({4, 8, 12, 13, 14, 15, 16})};
    case AeadMode::ocb:
      break;
  }
  return {1 + random() % 15, of({8, 12, 16})};
}

TEST_P(AeadAgainstWitnesses, RandomMessagesAgree) {
  std::mt19937 random(7);
  for (const AeadMode mode : test::kAeadModes) {
    std::size_t compared[2] = {};
    for (std::uint64_t i = 0; i < 150; ++i) {
      const auto [nonce_bytes, tag_bytes] = draw(mode, random);
      const Bytes key = test::some_bytes(16 + 8 * (random() % 3), i), nonce = test::some_bytes(nonce_bytes, i + 1);
      const Bytes ad = test::some_bytes(random() % 3 ? random() % 300 : 0, i + 2);
      const Bytes plain = test::some_bytes(random() % 5 ? random() % 3000 : random() % 40, i + 3);
      Bytes out(plain.size()), tag(tag_bytes), back(plain.size());
      const Aead aead(*GetParam(), mode, key);
      aead.seal(nonce, ad, plain, out.data(), tag);
      ASSERT_TRUE(aead.open(nonce, ad, out, back.data(), tag));
      ASSERT_EQ(back, plain);
      for (std::size_t w = 0; w < 2; ++w) {
        const auto right = kWitnesses[w].run(mode, key, nonce, ad, plain, tag_bytes);
        if (!right) continue;
        ++compared[w];
        ASSERT_EQ(joined(out, tag), *right)
            << kWitnesses[w].name << " " << name_of(mode) << " key " << key.size() << " nonce " << nonce_bytes << " ad "
            << ad.size() << " text " << plain.size() << " tag " << tag_bytes;
      }
    }
    EXPECT_GT(compared[1], 70u) << name_of(mode);  // its OCB takes no nonce below 8 bytes
    if (mode != AeadMode::eax) { EXPECT_GT(compared[0], 100u) << name_of(mode); }
  }
}

/// Lengths of associated data where CCM's encoding changes.
TEST_P(AeadAgainstWitnesses, LongAssociatedDataAgrees) {
  for (const AeadMode mode : test::kAeadModes) {
    for (const std::size_t size : {0xfeffu, 0xff00u, 0x10001u}) {
      const Bytes key = test::some_bytes(16, 1), nonce = test::some_bytes(12, 2), ad = test::some_bytes(size, 3);
      Bytes tag(16);
      Aead(*GetParam(), mode, key).seal(nonce, ad, {}, tag.data(), tag);
      EXPECT_EQ(tag, *test::gcrypt_aead(mode, key, nonce, ad, {}, 16)) << name_of(mode) << " " << size;
    }
  }
}

}  // namespace
}  // namespace nbdcrypt::modes
