// SPDX-License-Identifier: Apache-2.0
//
// LUKS2 against cryptsetup itself: what `cryptsetup reencrypt --encrypt` makes of a file our server must show as the
// file was, and what we write `cryptsetup reencrypt --decrypt` must give back. Every IV and sector size that both know.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "tests/interop/data.h"
#include "tests/interop/foreign.h"
#include "tests/support/requires.h"

namespace nbdcrypt::test {
namespace {

struct Cell {
  Cipher cipher;
  int sector_bytes;

  friend void PrintTo(const Cell& cell, std::ostream* out) {
    PrintTo(cell.cipher, out);
    *out << ", sectors of " << cell.sector_bytes;
  }
};

std::vector<Cell> cells() {
  const Cipher ciphers[] = {{"aes-xts-plain64", 256},      {"aes-xts-plain64", 512},      {"aes-xts-plain", 512},
                            {"aes-cbc-essiv:sha256", 128}, {"aes-cbc-essiv:sha256", 256}, {"aes-cbc-plain64", 256},
                            {"aes-cbc-plain64be", 256},    {"aes-cbc-plain", 256},        {"aes-cbc-benbi", 256},
                            {"aes-cbc-null", 256},         {"aes-cbc-eboiv", 256}};
  std::vector<Cell> all;
  for (const Cipher& cipher : ciphers) {
    for (const int sector_bytes : {512, 1024, 2048, 4096}) all.push_back({cipher, sector_bytes});
  }
  return all;
}

std::string name_of(const testing::TestParamInfo<Cell>& info) {
  return test_name(info.param.cipher.spec + "_" + std::to_string(info.param.cipher.key_bits) + "_sector_" +
                   std::to_string(info.param.sector_bytes));
}

class Luks2Reencrypt : public testing::TestWithParam<Cell> {
 protected:
  static constexpr std::size_t kDataBytes = (1 << 20) + 3 * 4096;

  static void TearDownTestSuite() { report_count("luks2 reencrypt oracle", cells_); }
  static inline int cells_ = 0;

  // Returns the plaintext.
  Bytes encrypt_by_cryptsetup() const {
    const Bytes plaintext = random_bytes(kDataBytes, 1);
    write_bytes(image_, plaintext);
    std::filesystem::resize_file(image_, kDataBytes + cryptsetup::kReserveBytes);
    cryptsetup::reencrypt_encrypt(image_, key_file_, GetParam().cipher, GetParam().sector_bytes);
    return plaintext;
  }

  // All of the volume as cryptsetup sees it. The image stays as it is.
  Bytes decrypted_by_cryptsetup(std::size_t volume_bytes) const {
    const TempDir elsewhere;
    std::filesystem::copy_file(image_, elsewhere / "image");
    cryptsetup::reencrypt_decrypt(elsewhere / "image", key_file_, elsewhere / "header");
    Bytes plaintext = read_bytes(elsewhere / "image");
    plaintext.resize(volume_bytes);
    return plaintext;
  }

  TempDir dir_;
  std::string image_ = dir_ / "image";
  std::string key_file_ = dir_.file("key", "oracle");
};

TEST_P(Luks2Reencrypt, AgreesWithCryptsetupBothWays) {
  NBDCRYPT_REQUIRE_TOOL("cryptsetup");
  NBDCRYPT_REQUIRE_TOOL("nbdkit");
  const Bytes plaintext = encrypt_by_cryptsetup();
  Bytes shadow;
  {
    const Server server({"file=" + image_, "key-file=" + key_file_});
    Client volume = server.connect();
    ASSERT_GT(volume.size(), plaintext.size());
    shadow = decrypted_by_cryptsetup(volume.size());
    ASSERT_TRUE(std::equal(plaintext.begin(), plaintext.end(), shadow.begin()));
    expect_holds(volume, shadow, 2);
    overwrite(volume, shadow, 3);
    expect_holds(volume, shadow, 4);
  }
  EXPECT_TRUE(decrypted_by_cryptsetup(shadow.size()) == shadow);
  if (!HasFailure()) ++cells_;
}

INSTANTIATE_TEST_SUITE_P(Cryptsetup, Luks2Reencrypt, testing::ValuesIn(cells()), name_of);

}  // namespace
}  // namespace nbdcrypt::test
