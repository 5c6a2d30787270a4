// SPDX-License-Identifier: Apache-2.0
//
// Every backend and offload level against OpenSSL and libgcrypt: chaining modes unit by unit, and sectors with IVs that
// are built here from their description, not by fill_iv().
#include <gtest/gtest.h>

#include "base/bytes.h"
#include "modes/sector_cipher.h"
#include "tests/modes/samples.h"
#include "tests/modes/witness.h"

namespace nbdcrypt::modes {
namespace {

using test::Byte;
using test::Bytes;
using test::NamedWitness;
using test::Witness;

Bytes slice(const Bytes& bytes, std::size_t at, std::size_t size) {
  return {bytes.begin() + static_cast<std::ptrdiff_t>(at), bytes.begin() + static_cast<std::ptrdiff_t>(at + size)};
}

struct ModeOfOp {
  aes::Op op;
  const char* mode;
  bool encrypt;
};

constexpr ModeOfOp kModes[] = {{aes::ecb_enc, "ECB", true},  {aes::ecb_dec, "ECB", false}, {aes::cbc_enc, "CBC", true},
                               {aes::cbc_dec, "CBC", false}, {aes::cfb_enc, "CFB", true},  {aes::cfb_dec, "CFB", false},
                               {aes::ofb, "OFB", true},      {aes::ctr, "CTR", true}};

class AgainstWitnesses : public testing::TestWithParam<const aes::Backend*> {};
INSTANTIATE_TEST_SUITE_P(, AgainstWitnesses, testing::ValuesIn(test::backends()), test::backend_name);

Bytes run_chain(const Chain& chain, const Bytes& key, const Bytes& in, Bytes iv, std::size_t unit) {
  Bytes out(in.size());
  chain.run(test::key_of(chain.backend(), key),
            {.in = in.data(), .out = out.data(), .iv = iv.data(), .unit = unit, .count = in.size() / unit});
  return out;
}

TEST_P(AgainstWitnesses, ChainingModesAgree) {
  for (const ModeOfOp& mode : kModes) {
    for (const std::size_t key_bytes : {16u, 24u, 32u}) {
      for (const auto& [unit, count] : {std::pair<std::size_t, std::size_t>{16, 33}, {48, 17}, {512, 9}, {4096, 3}}) {
        const Bytes key = test::some_bytes(key_bytes, unit), in = test::some_bytes(unit * count, 2);
        Bytes iv = test::some_bytes(16 * count, 3);
        std::fill_n(iv.begin() + 17, 15, Byte{0xff});  // a counter that soon carries through all of its bytes
        for (const NamedWitness& witness : test::kWitnesses) {
          Bytes right;
          for (std::size_t i = 0; i < count; ++i) {
            const Bytes one =
                witness.run(mode.mode, mode.encrypt, key, slice(iv, 16 * i, 16), slice(in, unit * i, unit));
            right.insert(right.end(), one.begin(), one.end());
          }
          for (const Offload offload : test::kLevels) {
            ASSERT_TRUE(run_chain(Chain(*GetParam(), mode.op, offload), key, in, iv, unit) == right)
                << witness.name << " " << name_of(mode.op) << " " << name_of(offload) << " " << key_bytes << " "
                << unit;
          }
        }
      }
    }
  }
}

TEST_P(AgainstWitnesses, GcmCountersWrapAt32Bits) {
  const Bytes key = test::some_bytes(16, 1), in = test::some_bytes(40 * 16, 2);
  Bytes iv = test::some_bytes(16, 3);
  base::store_be(iv.data() + 12, std::uint32_t{0xfffffff0});
  Bytes right = in;
  for (std::uint32_t i = 0; i < 40; ++i) {
    Bytes counter = iv;
    base::store_be(counter.data() + 12, 0xfffffff0 + i);
    const Bytes stream = test::openssl("ECB", true, key, {}, counter);
    for (std::size_t j = 0; j < 16; ++j) right[16 * i + j] ^= stream[j];
  }
  for (const Offload offload : test::kLevels) {
    EXPECT_EQ(run_chain(Chain(*GetParam(), aes::ctr32, offload), key, in, iv, in.size()), right);
  }
}

/// A way to encrypt sectors, and what a witness needs to do the same.
struct Case {
  const char* spec;
  std::size_t key_bytes;
};

constexpr Case kCases[] = {
    {"aes-ecb", 32},           {"aes-cbc-null", 16},      {"aes-cbc-plain", 24},   {"aes-cbc-plain64", 32},
    {"aes-cbc-plain64be", 16}, {"aes-cbc-benbi", 32},     {"aes-cbc-eboiv", 16},   {"aes-cbc-essiv:sha256", 32},
    {"aes-xts-null", 32},      {"aes-xts-plain", 64},     {"aes-xts-plain64", 32}, {"aes-xts-plain64", 48},
    {"aes-xts-plain64", 64},   {"aes-xts-plain64be", 64}, {"aes-xts-benbi", 32},   {"aes-xts-essiv:sha256", 64},
};

/// Sectors of a volume as a library other than ours encrypts them.
class Reference {
 public:
  Reference(Witness witness, const Case& test_case, const SectorLayout& layout, const Bytes& key,
            const Bytes& essiv_key)
      : witness_(witness),
        spec_(parse_cipher_spec(test_case.spec)),
        layout_(layout),
        key_(key),
        essiv_key_(essiv_key) {}

  Bytes encrypt(std::uint64_t first_sector, const Bytes& in) const {
    const char* const mode = spec_.mode == Mode::ecb ? "ECB" : spec_.mode == Mode::cbc ? "CBC" : "XTS";
    Bytes out;
    for (std::size_t at = 0; at < in.size(); at += layout_.sector_bytes) {
      const std::uint64_t number = number_of(first_sector + at / layout_.sector_bytes);
      const Bytes sector = witness_(mode, true, key_, iv_of(number), slice(in, at, layout_.sector_bytes));
      out.insert(out.end(), sector.begin(), sector.end());
    }
    return out;
  }

 private:
  std::uint64_t number_of(std::uint64_t sector) const {
    const std::uint64_t in_512 = layout_.first_iv + sector * (layout_.sector_bytes / 512);
    return layout_.iv_large_sectors ? in_512 / (layout_.sector_bytes / 512) : in_512;
  }

  Bytes iv_of(std::uint64_t number) const {
    Bytes iv(16);
    const auto little = [&](std::uint64_t value, std::size_t bytes) {
      for (std::size_t i = 0; i < bytes; ++i) iv[i] = static_cast<Byte>(value >> (8 * i));
    };
    const auto big = [&](std::uint64_t value) {
      for (std::size_t i = 0; i < 8; ++i) iv[15 - i] = static_cast<Byte>(value >> (8 * i));
    };
    switch (spec_.iv) {
      case IvKind::none:
      case IvKind::null:
        break;
      case IvKind::plain:
        little(number, 4);
        break;
      case IvKind::plain64:
        little(number, 8);
        break;
      case IvKind::plain64be:
        big(number);
        break;
      case IvKind::benbi:
        big(number * 32 + 1);
        break;
      case IvKind::essiv:
        little(number, 8);
        return witness_("ECB", true, essiv_key_, {}, iv);
      case IvKind::eboiv:
        little(number * layout_.sector_bytes, 8);
        return witness_("ECB", true, key_, {}, iv);
    }
    return iv;
  }

  Witness witness_;
  CipherSpec spec_;
  SectorLayout layout_;
  Bytes key_, essiv_key_;
};

struct Start {
  std::uint64_t first_iv, first_sector;
};

// IV numbers that pass 2^32, and 2^64, within the first sectors; and numbers that do neither.
constexpr Start kStarts[] = {{0, 0}, {3, 1'000'000}, {(std::uint64_t{1} << 32) - 40, 2}, {UINT64_MAX - 50, 0}};

class SectorsAgainstWitnesses : public testing::TestWithParam<std::tuple<const aes::Backend*, Case>> {
 protected:
  static constexpr std::size_t kSectors = 33;
  const Case case_ = std::get<Case>(GetParam());
  const Bytes key_ = test::some_bytes(case_.key_bytes, 11), essiv_key_ = test::some_bytes(32, 12);

  SectorCipher cipher(const SectorLayout& layout, Offload offload) const {
    return SectorCipher(*std::get<0>(GetParam()), parse_cipher_spec(case_.spec), layout,
                        {.key = key_, .essiv_key = essiv_key_}, offload);
  }

  /// Encrypts and decrypts the first `count` sectors, at an alignment and in place that both depend on count.
  void check_count(const SectorCipher& cipher, const Start& start, const Bytes& plain, const Bytes& right,
                   std::size_t count) const {
    const std::size_t bytes = count * cipher.sector_bytes();
    test::OffsetBuffer in(bytes, count % 17), out(bytes, count % 5);
    in.assign(slice(plain, 0, bytes));
    Byte* const to = count % 2 == 0 ? in.data() : out.data();
    cipher.encrypt(start.first_sector, {in.data(), bytes}, to);
    ASSERT_EQ(std::memcmp(to, right.data(), bytes), 0) << count;
    cipher.decrypt(start.first_sector, {to, bytes}, to);
    ASSERT_EQ(std::memcmp(to, plain.data(), bytes), 0) << count;
  }
};

TEST_P(SectorsAgainstWitnesses, Agree) {
  // OpenSSL has no XTS with 192-bit AES; libgcrypt has.
  const NamedWitness witness = test::kWitnesses[case_.key_bytes == 48 ? 1 : 0];
  for (const std::uint32_t sector_bytes : {512u, 1024u, 2048u, 4096u}) {
    for (const bool large : {false, true}) {
      for (const Start& start : kStarts) {
        const SectorLayout layout{.sector_bytes = sector_bytes, .first_iv = start.first_iv, .iv_large_sectors = large};
        const Bytes plain = test::some_bytes(kSectors * sector_bytes, 13);
        const Bytes right = Reference(witness.run, case_, layout, key_, essiv_key_).encrypt(start.first_sector, plain);
        for (const Offload offload : test::kLevels) {
          SCOPED_TRACE(std::to_string(sector_bytes) + (large ? " large " : " ") + std::to_string(start.first_iv) + " " +
                       name_of(offload));
          const SectorCipher sectors = cipher(layout, offload);
          // All counts where it matters; at the other levels and places a few.
          const std::size_t step = offload == Offload::batch && start.first_iv == 0 && !large ? 1 : 16;
          for (std::size_t count = 1; count <= kSectors; count += step) {
            check_count(sectors, start, plain, right, count);
            if (HasFatalFailure()) return;
          }
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, SectorsAgainstWitnesses,
                         testing::Combine(testing::ValuesIn(test::backends()), testing::ValuesIn(kCases)),
                         [](const testing::TestParamInfo<std::tuple<const aes::Backend*, Case>>& test) {
                           std::string name = std::string(std::get<0>(test.param)->name) + "_" +
                                              std::get<Case>(test.param).spec + "_" +
                                              std::to_string(std::get<Case>(test.param).key_bytes * 8);
                           std::ranges::replace(name, ':', '_');
                           return test::test_name(name);
                         });

/// The two libraries as each other's witness, so that one of them is not trusted alone.
TEST(Witnesses, AgreeWithEachOtherAboutSectors) {
  const Bytes plain = test::some_bytes(5 * 512, 1), essiv_key = test::some_bytes(32, 2);
  for (const Case& test_case : kCases) {
    if (test_case.key_bytes == 48) continue;
    const Bytes key = test::some_bytes(test_case.key_bytes, 3);
    const auto by = [&](const NamedWitness& witness) {
      return Reference(witness.run, test_case, {.first_iv = UINT64_MAX - 2}, key, essiv_key).encrypt(0, plain);
    };
    EXPECT_EQ(by(test::kWitnesses[0]), by(test::kWitnesses[1])) << test_case.spec;
  }
}

}  // namespace
}  // namespace nbdcrypt::modes
