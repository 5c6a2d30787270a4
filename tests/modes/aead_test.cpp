// SPDX-License-Identifier: Apache-2.0
//
// What holds for all authenticated modes on all backends: what was changed is refused and gives nothing out, all
// backends and offload levels agree, in place and at any alignment.
#include "tests/modes/aead_samples.h"

namespace nbdcrypt::modes {
namespace {

using test::Byte;
using test::Bytes;
using test::OffsetBuffer;
using test::some_bytes;

using Param = std::tuple<const aes::Backend*, AeadMode>;

std::string param_name(const testing::TestParamInfo<Param>& info) {
  return test::test_name(std::string(std::get<0>(info.param)->name) + "_" + name_of(std::get<1>(info.param)));
}

class AeadOn : public testing::TestWithParam<Param> {
 protected:
  const aes::Backend& backend() const { return *std::get<0>(GetParam()); }
  AeadMode mode() const { return std::get<1>(GetParam()); }
  /// A nonce length that all modes take.
  static constexpr std::size_t kNonceBytes = 12;
};
INSTANTIATE_TEST_SUITE_P(, AeadOn,
                         testing::Combine(testing::ValuesIn(test::backends()), testing::ValuesIn(test::kAeadModes)),
                         param_name);

/// Flips each bit of `bytes` in turn, calls visit(), and flips it back.
template <class F>
void for_each_flip(Bytes& bytes, F&& visit) {
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    bytes[bit / 8] ^= static_cast<Byte>(1 << bit % 8);
    visit(bit);
    bytes[bit / 8] ^= static_cast<Byte>(1 << bit % 8);
  }
}

TEST_P(AeadOn, RefusesEveryFlippedBitAndGivesNothingOut) {
  for (const std::size_t size : {0, 1, 16, 33, 600}) {
    const Aead aead(backend(), mode(), some_bytes(32, 1));
    Bytes nonce = some_bytes(kNonceBytes, 2), ad = some_bytes(21, 3), cipher(size), tag(16);
    const Bytes plain = some_bytes(size, 4);
    aead.seal(nonce, ad, plain, cipher.data(), tag);
    const auto refused = [&](const char* what) {
      return [&, what](std::size_t bit) {
        Bytes out(size, 0xee);
        ASSERT_FALSE(aead.open(nonce, ad, cipher, out.data(), tag)) << what << " bit " << bit << " of " << size;
        ASSERT_EQ(out, Bytes(size)) << what << " bit " << bit << " of " << size;
      };
    };
    for_each_flip(nonce, refused("nonce"));
    for_each_flip(ad, refused("associated data"));
    for_each_flip(cipher, refused("ciphertext"));
    for_each_flip(tag, refused("tag"));
    Bytes out(size);
    ASSERT_TRUE(aead.open(nonce, ad, cipher, out.data(), tag));
    ASSERT_EQ(out, plain);
  }
}

TEST_P(AeadOn, RefusesWhatIsLongerOrShorter) {
  const Aead aead(backend(), mode(), some_bytes(16, 1));
  const Bytes nonce = some_bytes(kNonceBytes, 2), ad = some_bytes(32, 3), plain = some_bytes(48, 4);
  Bytes cipher(48), tag(16), out(64);
  aead.seal(nonce, ad, plain, cipher.data(), tag);
  EXPECT_FALSE(aead.open(nonce, std::span(ad).first(31), cipher, out.data(), tag));
  EXPECT_FALSE(aead.open(nonce, std::span(ad).first(16), cipher, out.data(), tag));
  EXPECT_FALSE(aead.open(nonce, {}, cipher, out.data(), tag));
  EXPECT_FALSE(aead.open(nonce, ad, std::span(cipher).first(47), out.data(), tag));
  EXPECT_FALSE(aead.open(nonce, ad, std::span(cipher).first(32), out.data(), tag));
  cipher.push_back(0), tag.resize(16);
  EXPECT_FALSE(aead.open(nonce, ad, cipher, out.data(), tag));
}

/// Lengths around a block, a vector, and groups of 8, 16 and 32 blocks.
constexpr std::size_t kSizes[] = {0,   1,   15,  16,  17,  31,  32,  47,  64,   111,  112,  127,  128,  129,
                                  240, 255, 256, 257, 496, 511, 512, 513, 1008, 1024, 1420, 1536, 4096, 5000};

TEST_P(AeadOn, AgreesWithTheGenericBackendInPlaceAndMisaligned) {
  for (const std::size_t key_bytes : {16, 24, 32}) {
    const Bytes key = some_bytes(key_bytes, key_bytes), nonce = some_bytes(kNonceBytes, 2);
    const Aead reference(*aes::by_name("generic"), mode(), key, Offload::off);
    for (const Offload offload : test::kLevels) {
      const Aead aead(backend(), mode(), key, offload);
      for (const std::size_t size : kSizes) {
        const Bytes plain = some_bytes(size, 5), ad = some_bytes(size / 3, 6);
        Bytes right(size), right_tag(16), tag(16);
        reference.seal(nonce, ad, plain, right.data(), right_tag);
        OffsetBuffer in(size, size % 17), out(size, size % 13);
        in.assign(plain);
        aead.seal(nonce, ad, {in.data(), size}, out.data(), tag);
        ASSERT_EQ(out.bytes(), right) << name_of(offload) << " " << size;
        ASSERT_EQ(tag, right_tag) << name_of(offload) << " " << size;
        aead.seal(nonce, ad, {in.data(), size}, in.data(), tag);
        ASSERT_EQ(in.bytes(), right) << name_of(offload) << " " << size;
        ASSERT_EQ(tag, right_tag) << name_of(offload) << " " << size;
        ASSERT_TRUE(aead.open(nonce, ad, {in.data(), size}, in.data(), tag)) << name_of(offload) << " " << size;
        ASSERT_EQ(in.bytes(), plain) << name_of(offload) << " " << size;
        ASSERT_TRUE(aead.open(nonce, ad, right, out.data(), tag)) << name_of(offload) << " " << size;
        ASSERT_EQ(out.bytes(), plain) << name_of(offload) << " " << size;
      }
    }
  }
}

TEST_P(AeadOn, ShorterTagsAreRefusedWhenTheyAreWrong) {
  const Aead aead(backend(), mode(), some_bytes(16, 1));
  const Bytes nonce = some_bytes(kNonceBytes, 2), plain = some_bytes(100, 4);
  for (const std::size_t tag_bytes : {4, 8, 12, 14, 16}) {
    Bytes cipher(100), tag(tag_bytes), out(100);
    aead.seal(nonce, {}, plain, cipher.data(), tag);
    EXPECT_TRUE(aead.open(nonce, {}, cipher, out.data(), tag));
    for_each_flip(tag, [&](std::size_t bit) {
      EXPECT_FALSE(aead.open(nonce, {}, cipher, out.data(), tag)) << bit << " of " << tag_bytes;
    });
  }
}

TEST_P(AeadOn, CallsTheFusedKernelsOfItsBackend) {
  const bool has = mode() == AeadMode::gcm   ? backend().fused.gcm_hash != nullptr
                   : mode() == AeadMode::ocb ? backend().fused.ocb_encrypt != nullptr
                                             : backend().fused.mac != nullptr;
  const auto calls_of_seal = [&](Offload offload) {
    const Aead aead(backend(), mode(), some_bytes(16, 1), offload);
    Bytes data(512), tag(16);
    const std::uint64_t before = calls_of(backend()).fused;
    aead.seal(some_bytes(kNonceBytes, 2), {}, data, data.data(), tag);
    return calls_of(backend()).fused - before;
  };
  EXPECT_EQ(calls_of_seal(Offload::batch) > 0, has);
  EXPECT_EQ(calls_of_seal(Offload::off), 0u);
}

}  // namespace
}  // namespace nbdcrypt::modes
