// SPDX-License-Identifier: Apache-2.0
#include "modes/cipher_spec.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace nbdcrypt::modes {
namespace {

struct Accepted {
  const char* text;
  Mode mode;
  IvKind iv;
  const char* hash;
  const char* canonical;
};

constexpr Accepted kAccepted[] = {
    {"aes", Mode::cbc, IvKind::plain, "", "aes-cbc-plain"},
    {"aes-plain", Mode::cbc, IvKind::plain, "", "aes-cbc-plain"},
    {"aes-ecb", Mode::ecb, IvKind::none, "", "aes-ecb"},
    {"aes-cbc-null", Mode::cbc, IvKind::null, "", "aes-cbc-null"},
    {"aes-cbc-plain", Mode::cbc, IvKind::plain, "", "aes-cbc-plain"},
    {"aes-cbc-plain64", Mode::cbc, IvKind::plain64, "", "aes-cbc-plain64"},
    {"aes-cbc-plain64be", Mode::cbc, IvKind::plain64be, "", "aes-cbc-plain64be"},
    {"aes-cbc-benbi", Mode::cbc, IvKind::benbi, "", "aes-cbc-benbi"},
    {"aes-cbc-eboiv", Mode::cbc, IvKind::eboiv, "", "aes-cbc-eboiv"},
    {"aes-cbc-essiv:sha256", Mode::cbc, IvKind::essiv, "sha256", "aes-cbc-essiv:sha256"},
    {"aes-xts-null", Mode::xts, IvKind::null, "", "aes-xts-null"},
    {"aes-xts-plain", Mode::xts, IvKind::plain, "", "aes-xts-plain"},
    {"aes-xts-plain64", Mode::xts, IvKind::plain64, "", "aes-xts-plain64"},
    {"aes-xts-plain64be", Mode::xts, IvKind::plain64be, "", "aes-xts-plain64be"},
    {"aes-xts-benbi", Mode::xts, IvKind::benbi, "", "aes-xts-benbi"},
    {"aes-xts-essiv:sha256", Mode::xts, IvKind::essiv, "sha256", "aes-xts-essiv:sha256"},
};

TEST(CipherSpecParse, ReadsWhatCryptsetupReads) {
  for (const Accepted& accepted : kAccepted) {
    SCOPED_TRACE(accepted.text);
    const CipherSpec spec = parse_cipher_spec(accepted.text);
    EXPECT_EQ(spec.mode, accepted.mode);
    EXPECT_EQ(spec.iv, accepted.iv);
    EXPECT_EQ(spec.essiv_hash, accepted.hash);
    EXPECT_EQ(spec.text(), accepted.canonical);
    EXPECT_EQ(parse_cipher_spec(spec.text()).text(), accepted.canonical);
  }
}

struct Refused {
  const char* text;
  base::Kind kind;
  const char* message;
};

constexpr auto kUnsupported = base::Kind::unsupported;
constexpr auto kUsage = base::Kind::usage;

constexpr Refused kRefused[] = {
    {"serpent-xts-plain64", kUnsupported, "cipher serpent-xts-plain64: cipher serpent is not supported, expected aes"},
    {"twofish", kUnsupported, "cipher twofish: cipher twofish is not supported, expected aes"},
    {"camellia-cbc-plain", kUnsupported, "cipher camellia-cbc-plain: cipher camellia is not supported, expected aes"},
    {"cipher_null", kUnsupported, "cipher cipher_null: cipher cipher_null is not supported, expected aes"},
    {"cipher_null-ecb", kUnsupported, "cipher cipher_null-ecb: cipher cipher_null is not supported, expected aes"},
    {"null", kUnsupported, "cipher null: cipher null is not supported, expected aes"},
    {"AES-xts-plain64", kUnsupported, "cipher AES-xts-plain64: cipher AES is not supported, expected aes"},
    {"capi:xts(aes)-plain64", kUnsupported,
     "cipher capi:xts(aes)-plain64: the kernel's own spelling (capi:) is not supported, expected cipher-mode-iv"},
    {"aes:64-cbc-lmk", kUnsupported, "cipher aes:64-cbc-lmk: several keys (aes:64) are not supported, expected aes"},
    {"aes-lrw-benbi", kUnsupported, "cipher aes-lrw-benbi: mode lrw is not supported, expected ecb, cbc, xts"},
    {"aes-ctr-plain64", kUnsupported, "cipher aes-ctr-plain64: mode ctr is not supported, expected ecb, cbc, xts"},
    {"aes-cts-plain64", kUnsupported, "cipher aes-cts-plain64: mode cts is not supported, expected ecb, cbc, xts"},
    {"aes-plain64", kUnsupported, "cipher aes-plain64: mode plain64 is not supported, expected ecb, cbc, xts"},
    {"aes-XTS-plain64", kUnsupported, "cipher aes-XTS-plain64: mode XTS is not supported, expected ecb, cbc, xts"},
    {"aes-cbc-lmk", kUnsupported,
     "cipher aes-cbc-lmk: iv lmk is not supported, expected null, plain, plain64, plain64be, benbi, essiv, eboiv"},
    {"aes-cbc-tcw", kUnsupported,
     "cipher aes-cbc-tcw: iv tcw is not supported, expected null, plain, plain64, plain64be, benbi, essiv, eboiv"},
    {"aes-cbc-elephant", kUnsupported,
     "cipher aes-cbc-elephant: iv elephant is not supported, expected null, plain, plain64, plain64be, benbi, essiv, "
     "eboiv"},
    {"aes-xts-random", kUnsupported,
     "cipher aes-xts-random: iv random is not supported, expected null, plain, plain64, plain64be, benbi, essiv, "
     "eboiv"},
    {"aes-xts-eboiv", kUnsupported, "cipher aes-xts-eboiv: iv eboiv is not supported with mode xts"},
    {"aes-ecb-plain64", kUsage, "cipher aes-ecb-plain64: mode ecb takes no iv"},
    {"aes-ecb-null", kUsage, "cipher aes-ecb-null: mode ecb takes no iv"},
    {"aes-cbc", kUsage, "cipher aes-cbc: mode cbc needs an iv, as in aes-cbc-plain64"},
    {"aes-xts", kUsage, "cipher aes-xts: mode xts needs an iv, as in aes-xts-plain64"},
    {"aes-cbc-essiv", kUsage, "cipher aes-cbc-essiv: essiv needs a hash, as in essiv:sha256"},
    {"aes-cbc-essiv:", kUsage, "cipher aes-cbc-essiv:: essiv needs a hash, as in essiv:sha256"},
    {"aes-cbc-plain64:sha256", kUsage, "cipher aes-cbc-plain64:sha256: iv plain64 takes no options, found :sha256"},
    {"aes-cbc-benbi:", kUsage, "cipher aes-cbc-benbi:: iv benbi takes no options, found :"},
    {"", kUsage, "cipher : not of the form cipher-mode-iv, as in aes-xts-plain64"},
    {"-", kUsage, "cipher -: not of the form cipher-mode-iv, as in aes-xts-plain64"},
    {"-xts-plain64", kUsage, "cipher -xts-plain64: not of the form cipher-mode-iv, as in aes-xts-plain64"},
    {"aes-", kUsage, "cipher aes-: not of the form cipher-mode-iv, as in aes-xts-plain64"},
    {"aes-xts-", kUsage, "cipher aes-xts-: not of the form cipher-mode-iv, as in aes-xts-plain64"},
    {"aes-xts-plain64-", kUsage, "cipher aes-xts-plain64-: not of the form cipher-mode-iv, as in aes-xts-plain64"},
    {"aes-xts-plain64-512", kUsage,
     "cipher aes-xts-plain64-512: not of the form cipher-mode-iv, as in aes-xts-plain64"},
};

TEST(CipherSpecParse, RefusesByName) {
  for (const Refused& refused : kRefused) {
    SCOPED_TRACE(refused.text);
    try {
      const CipherSpec spec = parse_cipher_spec(refused.text);
      ADD_FAILURE() << "read as " << spec.text();
    } catch (const base::Error& error) {
      EXPECT_EQ(error.kind(), refused.kind);
      EXPECT_STREQ(error.what(), refused.message);
    }
  }
}

bool fits(const char* spec, std::size_t key_bytes) {
  try {
    check_key_size(parse_cipher_spec(spec), key_bytes);
    return true;
  } catch (const base::Error& error) {
    EXPECT_EQ(error.kind(), base::Kind::usage);
    return false;
  }
}

TEST(CipherSpecKeySize, IsOneAesKeyOrTwoForXts) {
  for (std::size_t bytes = 0; bytes <= 80; ++bytes) {
    SCOPED_TRACE(bytes);
    const bool one = bytes == 16 || bytes == 24 || bytes == 32;
    const bool two = bytes == 32 || bytes == 48 || bytes == 64;
    EXPECT_EQ(fits("aes-cbc-plain64", bytes), one);
    EXPECT_EQ(fits("aes-ecb", bytes), one);
    EXPECT_EQ(fits("aes-xts-plain64", bytes), two);
  }
}

TEST(CipherSpecKeySize, ErrorNamesCipherAndBits) {
  const auto message = [](const char* spec, std::size_t key_bytes) -> std::string {
    try {
      check_key_size(parse_cipher_spec(spec), key_bytes);
      return "accepted";
    } catch (const base::Error& error) { return error.what(); }
  };
  EXPECT_EQ(message("aes-xts-plain64", 16), "cipher aes-xts-plain64: a key of 128 bits, expected 256, 384 or 512");
  EXPECT_EQ(message("aes-cbc-essiv:sha256", 64),
            "cipher aes-cbc-essiv:sha256: a key of 512 bits, expected 128, 192 or 256");
}

}  // namespace
}  // namespace nbdcrypt::modes
