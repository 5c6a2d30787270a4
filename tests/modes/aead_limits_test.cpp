// SPDX-License-Identifier: Apache-2.0
//
// What the standards forbid is refused, each with its message; what they allow at the edge is not.
#include "base/error.h"
#include "tests/modes/aead_samples.h"

namespace nbdcrypt::modes {
namespace {

using test::Bytes;

/// The message of the refusal, or nothing. text and ad: lengths alone, so that they may be larger than memory.
std::string refusal(AeadMode mode, std::uint64_t nonce, std::uint64_t ad, std::uint64_t text, std::uint64_t tag) {
  try {
    check_lengths(mode, nonce, ad, text, tag);
    return "";
  } catch (const base::Error& error) {
    EXPECT_EQ(error.kind(), base::Kind::usage);
    return error.what();
  }
}

TEST(AeadLimits, OfTags) {
  const std::vector<std::uint64_t> allowed[] = {{4, 6, 8, 10, 12, 14, 16},
                                                {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16},
                                                {4, 8, 12, 13, 14, 15, 16},
                                                {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}};
  for (std::size_t i = 0; i < 4; ++i) {
    for (std::uint64_t tag = 0; tag <= 20; ++tag) {
      const bool ok = std::ranges::find(allowed[i], tag) != allowed[i].end();
      EXPECT_EQ(refusal(test::kAeadModes[i], 12, 0, 0, tag).empty(), ok) << name_of(test::kAeadModes[i]) << " " << tag;
    }
  }
  EXPECT_EQ(refusal(AeadMode::ccm, 12, 0, 0, 5), "CCM: tag of 5 bytes: expected 4, 6, 8, 10, 12, 14 or 16");
  EXPECT_EQ(refusal(AeadMode::eax, 12, 0, 0, 0), "EAX: tag of 0 bytes: expected 1 to 16");
  EXPECT_EQ(refusal(AeadMode::gcm, 12, 0, 0, 11), "GCM: tag of 11 bytes: expected 4, 8 or 12 to 16");
  EXPECT_EQ(refusal(AeadMode::ocb, 12, 0, 0, 17), "OCB: tag of 17 bytes: expected 1 to 16");
}

TEST(AeadLimits, OfNonces) {
  for (std::uint64_t nonce = 0; nonce <= 40; ++nonce) {
    EXPECT_EQ(refusal(AeadMode::ccm, nonce, 0, 0, 16).empty(), nonce >= 7 && nonce <= 13) << nonce;
    EXPECT_EQ(refusal(AeadMode::ocb, nonce, 0, 0, 16).empty(), nonce >= 1 && nonce <= 15) << nonce;
    EXPECT_EQ(refusal(AeadMode::gcm, nonce, 0, 0, 16).empty(), nonce >= 1) << nonce;
    EXPECT_EQ(refusal(AeadMode::eax, nonce, 0, 0, 16), "") << nonce;
  }
  EXPECT_EQ(refusal(AeadMode::ccm, 14, 0, 0, 16), "CCM: nonce of 14 bytes: expected 7 to 13");
  EXPECT_EQ(refusal(AeadMode::ocb, 16, 0, 0, 16), "OCB: nonce of 16 bytes: expected 1 to 15");
  EXPECT_EQ(refusal(AeadMode::gcm, 0, 0, 0, 16), "GCM: nonce of 0 bytes: expected 1 to 2^61 - 1");
  EXPECT_EQ(refusal(AeadMode::gcm, (std::uint64_t{1} << 61) - 1, 0, 0, 16), "");
  EXPECT_NE(refusal(AeadMode::gcm, std::uint64_t{1} << 61, 0, 0, 16), "");
}

TEST(AeadLimits, OfTexts) {
  constexpr std::uint64_t kOne = 1;
  EXPECT_EQ(refusal(AeadMode::gcm, 12, 0, (kOne << 36) - 32, 16), "");
  EXPECT_EQ(refusal(AeadMode::gcm, 12, 0, (kOne << 36) - 31, 16),
            "GCM: text of 68719476705 bytes: expected at most 2^36 - 32");
  for (std::uint64_t nonce = 8; nonce <= 13; ++nonce) {
    const std::uint64_t most = (kOne << 8 * (15 - nonce)) - 1;
    EXPECT_EQ(refusal(AeadMode::ccm, nonce, 0, most, 16), "") << nonce;
    EXPECT_NE(refusal(AeadMode::ccm, nonce, 0, most + 1, 16), "") << nonce;
  }
  EXPECT_EQ(refusal(AeadMode::ccm, 13, 0, 65536, 16),
            "CCM: text of 65536 bytes: expected at most 2^16 - 1 with a nonce of 13");
  EXPECT_EQ(refusal(AeadMode::ccm, 7, 0, UINT64_MAX, 16), "");
  EXPECT_EQ(refusal(AeadMode::ocb, 12, 0, kOne << 61, 16),
            "OCB: text of 2305843009213693952 bytes: expected at most 2^61 - 1");
}

TEST(AeadLimits, OfAssociatedData) {
  constexpr std::uint64_t kMost = (std::uint64_t{1} << 61) - 1;
  for (const AeadMode mode : {AeadMode::gcm, AeadMode::ocb}) {
    EXPECT_EQ(refusal(mode, 12, kMost, 0, 16), "");
    EXPECT_EQ(refusal(mode, 12, kMost + 1, 0, 16),
              std::string(name_of(mode)) + ": associated data of 2305843009213693952 bytes: expected at most 2^61 - 1");
  }
  EXPECT_EQ(refusal(AeadMode::ccm, 12, UINT64_MAX, 0, 16), "");
  EXPECT_EQ(refusal(AeadMode::eax, 12, UINT64_MAX, 0, 16), "");
}

TEST(AeadLimits, OfKeys) {
  for (const AeadMode mode : test::kAeadModes) {
    for (std::size_t size = 0; size <= 40; ++size) {
      const auto make = [&] { Aead(aes::best(), mode, Bytes(size)); };
      if (size == 16 || size == 24 || size == 32) {
        EXPECT_NO_THROW(make()) << size;
      } else {
        EXPECT_THROW(make(), base::Error) << size;
      }
    }
  }
}

TEST(AeadLimits, BindSealAndOpenBeforeTheyWriteAnything) {
  for (const AeadMode mode : test::kAeadModes) {
    const Aead aead(aes::best(), mode, Bytes(16));
    Bytes out(16, 0xee), tag(17, 0xee);
    EXPECT_THROW(aead.seal(Bytes(12), {}, Bytes(16), out.data(), tag), base::Error);
    EXPECT_THROW(static_cast<void>(aead.open(Bytes(12), {}, Bytes(16), out.data(), tag)), base::Error);
    EXPECT_EQ(out, Bytes(16, 0xee));
    EXPECT_EQ(tag, Bytes(17, 0xee));
  }
}

}  // namespace
}  // namespace nbdcrypt::modes
