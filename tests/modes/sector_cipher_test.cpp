// SPDX-License-Identifier: Apache-2.0
#include "modes/sector_cipher.h"

#include <gtest/gtest.h>

#include <numeric>
#include <thread>

#include "base/error.h"
#include "tests/modes/samples.h"
#include "tests/support/guarded_buffer.h"

namespace nbdcrypt::modes {
namespace {

using test::Byte;
using test::Bytes;

constexpr const char* kSpecs[] = {"aes-ecb",           "aes-cbc-null",        "aes-cbc-plain", "aes-cbc-essiv:sha256",
                                  "aes-cbc-eboiv",     "aes-cbc-benbi",       "aes-xts-plain", "aes-xts-plain64",
                                  "aes-xts-plain64be", "aes-xts-essiv:sha256"};

/// A cipher over sample keys.
SectorCipher cipher_of(const aes::Backend& backend, const char* text, const SectorLayout& layout = {},
                       Offload offload = Offload::batch) {
  const CipherSpec spec = parse_cipher_spec(text);
  const Bytes key = test::some_bytes(spec.mode == Mode::xts ? 64 : 32, 1), essiv_key = test::some_bytes(32, 2);
  return SectorCipher(backend, spec, layout, {.key = key, .essiv_key = essiv_key}, offload);
}

Bytes encrypted(const SectorCipher& cipher, std::uint64_t first_sector, const Bytes& in) {
  Bytes out(in.size());
  cipher.encrypt(first_sector, in, out.data());
  return out;
}

Bytes decrypted(const SectorCipher& cipher, std::uint64_t first_sector, const Bytes& in) {
  Bytes out(in.size());
  cipher.decrypt(first_sector, in, out.data());
  return out;
}

class SectorCipherOnEveryBackend : public testing::TestWithParam<const aes::Backend*> {};
INSTANTIATE_TEST_SUITE_P(, SectorCipherOnEveryBackend, testing::ValuesIn(test::backends()), test::backend_name);

TEST_P(SectorCipherOnEveryBackend, ARangeIsItsSectorsOneByOne) {
  for (const char* spec : kSpecs) {
    for (const Offload offload : test::kLevels) {
      SCOPED_TRACE(std::string(spec) + " " + name_of(offload));
      const SectorCipher cipher = cipher_of(*GetParam(), spec, {.sector_bytes = 1024, .first_iv = 7}, offload);
      // More than two batches of sectors, none of them full at the end.
      const Bytes plain = test::some_bytes(150 * 1024, 3);
      const Bytes whole = encrypted(cipher, 1000, plain);
      for (std::size_t i = 0; i < 150; ++i) {
        const auto at = plain.begin() + static_cast<std::ptrdiff_t>(i * 1024);
        const Bytes one = encrypted(cipher, 1000 + i, Bytes(at, at + 1024));
        ASSERT_TRUE(std::ranges::equal(one, std::span(whole).subspan(i * 1024, 1024))) << "sector " << i;
      }
      ASSERT_EQ(decrypted(cipher, 1000, whole), plain);
    }
  }
}

TEST_P(SectorCipherOnEveryBackend, WorksInPlace) {
  for (const char* spec : kSpecs) {
    SCOPED_TRACE(spec);
    const SectorCipher cipher = cipher_of(*GetParam(), spec);
    const Bytes plain = test::some_bytes(100 * 512, 4);
    Bytes data = plain;
    cipher.encrypt(5, data, data.data());
    EXPECT_EQ(data, encrypted(cipher, 5, plain));
    cipher.decrypt(5, data, data.data());
    EXPECT_EQ(data, plain);
  }
}

TEST_P(SectorCipherOnEveryBackend, TouchesNothingAroundItsBuffers) {
  using test::GuardedBuffer;
  for (const char* spec : kSpecs) {
    const SectorCipher cipher = cipher_of(*GetParam(), spec);
    for (const auto edge : {GuardedBuffer::Edge::front, GuardedBuffer::Edge::back}) {
      for (const std::size_t slack : {0u, 1u, 15u}) {
        const Bytes plain = test::some_bytes(67 * 512, 4);
        GuardedBuffer in(plain.size(), edge, slack), out(plain.size(), edge, slack);
        std::ranges::copy(plain, in.data());
        cipher.encrypt(9, in.bytes(), out.data());
        EXPECT_TRUE(std::ranges::equal(out.bytes(), encrypted(cipher, 9, plain))) << spec;
        cipher.decrypt(9, out.bytes(), in.data());
        EXPECT_TRUE(std::ranges::equal(in.bytes(), plain)) << spec;
      }
    }
  }
}

TEST_P(SectorCipherOnEveryBackend, IsSharedByThreadsWithoutLocks) {
  const SectorCipher cipher = cipher_of(*GetParam(), "aes-xts-plain64");
  const Bytes plain = test::some_bytes(80 * 512, 5);
  const Bytes right = encrypted(cipher, 0, plain);
  std::vector<Bytes> results(4);
  {
    std::vector<std::jthread> threads;
    for (Bytes& result : results) {
      threads.emplace_back([&] {
        for (int i = 0; i < 20; ++i) result = encrypted(cipher, 0, plain);
      });
    }
  }
  for (const Bytes& result : results) EXPECT_EQ(result, right);
}

/// The counters of one backend, added up over its operations.
std::uint64_t all_calls(const aes::Backend& backend) {
  const Calls& calls = calls_of(backend);
  std::uint64_t sum = 0;
  for (const aes::Op op : test::all_ops()) sum += calls.offload[op] + calls.blocks[op];
  return sum;
}

TEST_P(SectorCipherOnEveryBackend, RunsOnTheBackendThatWasForcedAndNoOther) {
  std::vector<std::uint64_t> before;
  for (const aes::Backend* backend : aes::built()) before.push_back(all_calls(*backend));
  encrypted(cipher_of(*GetParam(), "aes-xts-plain64"), 0, Bytes(512));
  for (std::size_t i = 0; i < before.size(); ++i) {
    const aes::Backend& backend = *aes::built()[i];
    EXPECT_EQ(all_calls(backend) > before[i], &backend == GetParam()) << backend.name;
  }
}

/// What encrypting 100 sectors of 512 bytes (batches of 64 and 36) adds to the counters of an operation.
struct Added {
  std::uint64_t offload, blocks;
  bool operator==(const Added&) const = default;
};

std::pair<Added, Added> calls_made(const aes::Backend& backend, Offload offload) {
  const Calls& calls = calls_of(backend);
  const auto now = [&](aes::Op op) { return Added{calls.offload[op], calls.blocks[op]}; };
  const Added data = now(aes::xts_enc), tweak = now(aes::ecb_enc);
  encrypted(cipher_of(backend, "aes-xts-plain64", {}, offload), 0, Bytes(100 * 512));
  const auto since = [&](aes::Op op, const Added& before) {
    return Added{now(op).offload - before.offload, now(op).blocks - before.blocks};
  };
  return {since(aes::xts_enc, data), since(aes::ecb_enc, tweak)};
}

TEST_P(SectorCipherOnEveryBackend, HandsOverBlocksUnitsOrBatches) {
  const aes::Backend& backend = *GetParam();
  const auto of = [&](aes::Op op, std::uint64_t kernel_calls, std::uint64_t generic_calls) {
    return backend.offload.of[op] ? Added{kernel_calls, 0} : Added{0, generic_calls};
  };
  const auto [off_data, off_tweak] = calls_made(backend, Offload::off);
  EXPECT_EQ(off_data, (Added{0, 100 * 32}));
  EXPECT_EQ(off_tweak, (Added{0, 100}));

  const auto [buffer_data, buffer_tweak] = calls_made(backend, Offload::buffer);
  EXPECT_EQ(buffer_data, of(aes::xts_enc, 100, 100));
  EXPECT_EQ(buffer_tweak, of(aes::ecb_enc, 100, 100));

  // The generic mode takes two of these sectors at a time.
  const auto [batch_data, batch_tweak] = calls_made(backend, Offload::batch);
  EXPECT_EQ(batch_data, of(aes::xts_enc, 2, 50));
  EXPECT_EQ(batch_tweak, of(aes::ecb_enc, 2, 2));
}

const aes::Backend& any_backend() { return aes::best(); }

TEST(SectorCipher, NumbersCountFrom512ByteUnitsWhateverTheSectorSize) {
  const Bytes plain = test::some_bytes(4096, 6);
  const auto first_of = [&](const SectorLayout& layout, std::uint64_t sector) {
    return encrypted(cipher_of(any_backend(), "aes-cbc-plain64", layout), sector, plain);
  };
  const Bytes number_80 = first_of({.sector_bytes = 4096, .first_iv = 80}, 0);
  EXPECT_EQ(first_of({.sector_bytes = 4096}, 10), number_80);
  EXPECT_EQ(first_of({.sector_bytes = 4096, .first_iv = 72}, 1), number_80);
  EXPECT_EQ(first_of({.sector_bytes = 4096, .first_iv = 640, .iv_large_sectors = true}, 0), number_80);
  EXPECT_EQ(first_of({.sector_bytes = 4096, .first_iv = 647, .iv_large_sectors = true}, 0), number_80);
  EXPECT_EQ(first_of({.sector_bytes = 4096, .first_iv = 632, .iv_large_sectors = true}, 1), number_80);
}

TEST(SectorCipher, EssivEncryptsWithItsOwnKey) {
  const Bytes key = test::some_bytes(16, 1), plain = test::some_bytes(512, 2);
  const auto with = [&](std::size_t essiv_bytes, std::uint64_t seed) {
    const Bytes essiv_key = test::some_bytes(essiv_bytes, seed);
    return encrypted(SectorCipher(any_backend(), parse_cipher_spec("aes-cbc-essiv:sha256"), {},
                                  {.key = key, .essiv_key = essiv_key}),
                     0, plain);
  };
  EXPECT_EQ(with(32, 3), with(32, 3));
  EXPECT_NE(with(32, 3), with(32, 4));
  EXPECT_NE(with(16, 3), with(32, 3));
}

TEST(SectorCipher, LeavesWhatIsNoWholeSectorAlone) {
  const SectorCipher cipher = cipher_of(any_backend(), "aes-xts-plain64");
  const Bytes in = test::some_bytes(512 + 511, 1);
  Bytes out(in.size(), 0xaa);
  cipher.encrypt(0, in, out.data());
  EXPECT_NE(out[511], 0xaa);
  EXPECT_TRUE(std::all_of(out.begin() + 512, out.end(), [](Byte byte) { return byte == 0xaa; }));
  cipher.encrypt(0, {}, nullptr);
}

struct Refused {
  const char* cipher;
  SectorLayout layout;
  std::size_t key_bytes, essiv_bytes;
  const char* message;
};

constexpr Refused kRefused[] = {
    {"aes-xts-plain64", {.sector_bytes = 0}, 64, 0, "sector size 0: expected 512, 1024, 2048 or 4096"},
    {"aes-xts-plain64", {.sector_bytes = 256}, 64, 0, "sector size 256: expected 512, 1024, 2048 or 4096"},
    {"aes-xts-plain64", {.sector_bytes = 520}, 64, 0, "sector size 520: expected 512, 1024, 2048 or 4096"},
    {"aes-xts-plain64", {.sector_bytes = 8192}, 64, 0, "sector size 8192: expected 512, 1024, 2048 or 4096"},
    {"aes-xts-plain64", {}, 16, 0, "cipher aes-xts-plain64: a key of 128 bits, expected 256, 384 or 512"},
    {"aes-cbc-plain64", {}, 64, 0, "cipher aes-cbc-plain64: a key of 512 bits, expected 128, 192 or 256"},
    {"aes-cbc-essiv:sha1",
     {},
     16,
     20,
     "cipher aes-cbc-essiv:sha1: the hash gives a key of 160 bits, expected 128, 192 or 256"},
    {"aes-cbc-essiv:sha256",
     {},
     16,
     0,
     "cipher aes-cbc-essiv:sha256: the hash gives a key of 0 bits, expected 128, 192 or 256"},
};

TEST(SectorCipher, RefusesWhatDoesNotFit) {
  for (const Refused& refused : kRefused) {
    SCOPED_TRACE(refused.message);
    const Bytes key(refused.key_bytes), essiv_key(refused.essiv_bytes);
    try {
      SectorCipher(any_backend(), parse_cipher_spec(refused.cipher), refused.layout,
                   {.key = key, .essiv_key = essiv_key});
      ADD_FAILURE() << "accepted";
    } catch (const base::Error& error) {
      EXPECT_EQ(error.kind(), base::Kind::usage);
      EXPECT_STREQ(error.what(), refused.message);
    }
  }
}

}  // namespace
}  // namespace nbdcrypt::modes
