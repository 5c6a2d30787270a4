// SPDX-License-Identifier: Apache-2.0
//
// Messages in parts against messages in one piece, of which vectors_test and differential_test know what is right.
#include "modes/stream_cipher.h"

#include <random>

#include "base/error.h"
#include "tests/modes/samples.h"
#include "tests/vectors/vec_file.h"

namespace nbdcrypt::modes {
namespace {

using test::Byte;
using test::Bytes;
using test::some_bytes;

constexpr StreamMode kModes[] = {StreamMode::cbc, StreamMode::cfb, StreamMode::ofb, StreamMode::ctr};

class StreamOn : public testing::TestWithParam<const aes::Backend*> {};
INSTANTIATE_TEST_SUITE_P(, StreamOn, testing::ValuesIn(test::backends()), test::backend_name);

/// `in` in parts of random sizes; whole blocks where `unit` is 16.
Bytes in_parts(StreamCipher& cipher, const Bytes& in, std::size_t unit, std::mt19937& random, bool in_place) {
  Bytes out = in_place ? in : Bytes(in.size());
  for (std::size_t at = 0; at < in.size();) {
    const std::size_t most = random() % 4 ? 40 : 700;
    const std::size_t part = std::min((random() % most) / unit * unit, in.size() - at);
    cipher.update({(in_place ? out.data() : in.data()) + at, part}, out.data() + at);
    at += part;
  }
  return out;
}

TEST_P(StreamOn, EveryCutGivesTheSame) {
  std::mt19937 random(5);
  for (const StreamMode mode : kModes) {
    for (const std::size_t key_bytes : {16, 24, 32}) {
      const std::size_t unit = mode == StreamMode::cbc ? 16 : 1;
      const Bytes key = some_bytes(key_bytes, 1), plain = some_bytes(unit == 16 ? 2992 : 2999, 3);
      Bytes iv(16, 0xff);  // a counter that carries at once
      iv[15] = 0xfd;
      Bytes right(plain.size());
      StreamCipher(*GetParam(), mode, true, key, iv).update(plain, right.data());
      for (int i = 0; i < 20; ++i) {
        for (const Offload offload : test::kLevels) {
          StreamCipher seal(*GetParam(), mode, true, key, iv, offload),
              open(*GetParam(), mode, false, key, iv, offload);
          ASSERT_EQ(in_parts(seal, plain, unit, random, i % 2), right) << name_of(mode) << " " << name_of(offload);
          ASSERT_EQ(in_parts(open, right, unit, random, i % 2), plain) << name_of(mode) << " " << name_of(offload);
          seal.restart(iv);
          ASSERT_EQ(in_parts(seal, plain, unit, random, true), right) << name_of(mode) << " again";
        }
      }
    }
  }
}

/// A message that is no whole number of blocks is a prefix of a longer one's result.
TEST_P(StreamOn, TakesAnyLength) {
  for (const StreamMode mode : {StreamMode::cfb, StreamMode::ofb, StreamMode::ctr}) {
    const Bytes key = some_bytes(16, 1), iv = some_bytes(16, 2), plain = some_bytes(160, 3);
    Bytes right(160);
    StreamCipher(*GetParam(), mode, true, key, iv).update(plain, right.data());
    for (std::size_t size = 0; size < 160; ++size) {
      Bytes out(size + 1, 0xa5);
      StreamCipher(*GetParam(), mode, true, key, iv).update(std::span(plain).first(size), out.data());
      ASSERT_TRUE(std::equal(out.begin(), out.end() - 1, right.begin())) << name_of(mode) << " " << size;
      ASSERT_EQ(out.back(), 0xa5) << name_of(mode) << " " << size;
    }
  }
}

TEST_P(StreamOn, PublishedFiguresByteByByte) {
  std::size_t messages = 0;
  test::for_each_record("sp800-38a.vec", [&](const test::VecRecord& record) {
    const Bytes key = record.bytes("Key"), plain = record.bytes("Plaintext"), cipher = record.bytes("Ciphertext");
    if (record.section() == "ECB") return;
    const Bytes iv = record.bytes("IV");
    for (const StreamMode mode : kModes) {
      if (!record.section().starts_with(name_of(mode))) continue;
      ++messages;
      StreamCipher seal(*GetParam(), mode, true, key, iv), open(*GetParam(), mode, false, key, iv);
      const std::size_t part = mode == StreamMode::cbc ? 16 : 1;
      Bytes out = plain;
      for (std::size_t at = 0; at < out.size(); at += part) seal.update({&out[at], part}, &out[at]);
      EXPECT_EQ(out, cipher) << record.where();
      for (std::size_t at = 0; at < out.size(); at += part) open.update({&out[at], part}, &out[at]);
      EXPECT_EQ(out, plain) << record.where();
    }
  });
  EXPECT_EQ(messages, 12u);
}

std::string refusal(StreamMode mode, std::size_t key, std::size_t iv, std::size_t part) {
  Bytes data(part, 1), out(part, 0xee);
  try {
    StreamCipher(aes::best(), mode, true, Bytes(key), Bytes(iv)).update(data, out.data());
    return "";
  } catch (const base::Error& error) {
    EXPECT_EQ(error.kind(), base::Kind::usage);
    EXPECT_EQ(out, Bytes(part, 0xee));
    return error.what();
  }
}

TEST(StreamLimits, AreRefusedByName) {
  EXPECT_EQ(refusal(StreamMode::cbc, 16, 16, 17), "CBC: part of 17 bytes: expected whole blocks of 16");
  EXPECT_EQ(refusal(StreamMode::ctr, 15, 16, 16), "CTR: key of 15 bytes: expected 16, 24 or 32");
  EXPECT_EQ(refusal(StreamMode::cfb, 16, 12, 16), "CFB: IV of 12 bytes: expected 16");
  EXPECT_EQ(refusal(StreamMode::ofb, 32, 16, 17), "");
  for (const StreamMode mode : kModes) {
    for (std::size_t size = 0; size <= 40; ++size) {
      EXPECT_EQ(refusal(mode, size, 16, 16).empty(), size == 16 || size == 24 || size == 32) << size;
      EXPECT_EQ(refusal(mode, 16, size, 16).empty(), size == 16) << size;
      EXPECT_EQ(refusal(mode, 16, 16, size).empty(), mode != StreamMode::cbc || size % 16 == 0) << size;
    }
  }
}

}  // namespace
}  // namespace nbdcrypt::modes
