// SPDX-License-Identifier: Apache-2.0
//
// Published figures, on every backend and offload level. vectors_witness_test holds the same files against OpenSSL and
// libgcrypt.
#include "tests/vectors/vec_file.h"

#include <gtest/gtest.h>

#include "base/bytes.h"
#include "modes/sector_cipher.h"
#include "tests/modes/samples.h"
#include "tests/modes/sha256.h"

namespace nbdcrypt::modes {
namespace {

using test::Bytes;
using test::VecRecord;

Bytes half(const Bytes& key, bool second) {
  const auto middle = key.begin() + static_cast<std::ptrdiff_t>(key.size() / 2);
  return second ? Bytes(middle, key.end()) : Bytes(key.begin(), middle);
}

/// One unit through a chain. Returns what came out.
Bytes run(const Chain& chain, const Bytes& key, Bytes iv, const Bytes& in) {
  Bytes out(in.size());
  chain.run(test::key_of(chain.backend(), key),
            {.in = in.data(), .out = out.data(), .iv = iv.data(), .unit = in.size(), .count = 1});
  return out;
}

class PublishedFigures : public testing::TestWithParam<const aes::Backend*> {
 protected:
  template <class F>
  void at_each_level(F&& check) {
    for (const Offload offload : test::kLevels) {
      SCOPED_TRACE(name_of(offload));
      check(offload);
    }
  }
};
INSTANTIATE_TEST_SUITE_P(, PublishedFigures, testing::ValuesIn(test::backends()), test::backend_name);

struct Direction {
  aes::Op encrypt, decrypt;
};

Direction ops_of(const std::string& section) {
  if (section == "ECB") return {aes::ecb_enc, aes::ecb_dec};
  if (section == "CBC") return {aes::cbc_enc, aes::cbc_dec};
  if (section == "CFB128") return {aes::cfb_enc, aes::cfb_dec};
  if (section == "OFB") return {aes::ofb, aes::ofb};
  if (section == "CTR") return {aes::ctr, aes::ctr};
  ADD_FAILURE() << "no mode " << section;
  return {aes::ecb_enc, aes::ecb_dec};
}

TEST_P(PublishedFigures, OfSp800_38a) {
  const std::size_t records = test::for_each_record("sp800-38a.vec", [&](const VecRecord& record) {
    SCOPED_TRACE(record.where());
    const Bytes key = record.bytes("Key"), plain = record.bytes("Plaintext"), cipher = record.bytes("Ciphertext");
    const Bytes iv = record.section() == "ECB" ? Bytes(16) : record.bytes("IV");
    const Direction ops = ops_of(record.section());
    at_each_level([&](Offload offload) {
      EXPECT_EQ(run(Chain(*GetParam(), ops.encrypt, offload), key, iv, plain), cipher);
      EXPECT_EQ(run(Chain(*GetParam(), ops.decrypt, offload), key, iv, cipher), plain);
    });
  });
  EXPECT_EQ(records, 15u);
}

TEST_P(PublishedFigures, OfIeee1619) {
  const std::size_t records = test::for_each_record("xts_ieee1619.vec", [&](const VecRecord& record) {
    SCOPED_TRACE("vector " + record.text("Vector"));
    const Bytes key = record.bytes("Key"), plain = record.bytes("Plaintext"), cipher = record.bytes("Ciphertext");
    EXPECT_EQ(record.section(), "XTS-AES-" + std::to_string(key.size() * 4));
    at_each_level([&](Offload offload) {
      const Bytes tweak = run(Chain(*GetParam(), aes::ecb_enc, offload), half(key, true), {}, record.bytes("Tweak"));
      EXPECT_EQ(run(Chain(*GetParam(), aes::xts_enc, offload), half(key, false), tweak, plain), cipher);
      EXPECT_EQ(run(Chain(*GetParam(), aes::xts_dec, offload), half(key, false), tweak, cipher), plain);
    });
  });
  EXPECT_EQ(records, 15u);
}

TEST_P(PublishedFigures, OfIeee1619AsSectors) {
  std::size_t sectors = 0;
  test::for_each_record("xts_ieee1619.vec", [&](const VecRecord& record) {
    SCOPED_TRACE("vector " + record.text("Vector"));
    const Bytes key = record.bytes("Key"), plain = record.bytes("Plaintext"), cipher = record.bytes("Ciphertext");
    const std::uint64_t number = base::load_le<std::uint64_t>(record.bytes("Tweak").data());
    if (plain.size() != 512) return;
    ++sectors;
    at_each_level([&](Offload offload) {
      const SectorCipher xts(*GetParam(), parse_cipher_spec("aes-xts-plain64"), {}, {.key = key, .essiv_key = {}},
                             offload);
      Bytes out(512);
      xts.encrypt(number, plain, out.data());
      EXPECT_EQ(out, cipher);
      xts.decrypt(number, cipher, out.data());
      EXPECT_EQ(out, plain);
    });
  });
  EXPECT_EQ(sectors, 12u);
}

TEST_P(PublishedFigures, OfIvModes) {
  const std::size_t records = test::for_each_record("iv_modes.vec", [&](const VecRecord& record) {
    const Bytes key = record.bytes("Key"), digest = record.bytes("Sha256");
    const auto essiv_key = test::sha256(key);
    const SectorLayout layout{.sector_bytes = static_cast<std::uint32_t>(record.number("SectorBytes")),
                              .first_iv = record.number("FirstIv"),
                              .iv_large_sectors = record.text("LargeSectors") == "yes"};
    SCOPED_TRACE(record.text("Cipher") + " " + std::to_string(layout.sector_bytes) + " " + record.text("LargeSectors"));
    at_each_level([&](Offload offload) {
      const SectorCipher cipher(*GetParam(), parse_cipher_spec(record.text("Cipher")), layout,
                                {.key = key, .essiv_key = essiv_key}, offload);
      Bytes data(8192);
      cipher.encrypt(0, data, data.data());
      EXPECT_TRUE(std::ranges::equal(test::sha256(data), digest));
      cipher.decrypt(0, data, data.data());
      EXPECT_EQ(data, Bytes(8192));
    });
  });
  EXPECT_EQ(records, 49u);
}

// FIPS 180-4's own examples: the digests above are computed by the tests.
TEST(Sha256, GivesTheExamplesOfFips180) {
  const auto hex = [](const std::string& text) {
    std::string digits;
    for (const std::uint8_t byte : test::sha256(Bytes(text.begin(), text.end()))) {
      digits += "0123456789abcdef"[byte >> 4];
      digits += "0123456789abcdef"[byte & 15];
    }
    return digits;
  };
  EXPECT_EQ(hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

}  // namespace
}  // namespace nbdcrypt::modes
