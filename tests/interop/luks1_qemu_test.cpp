// SPDX-License-Identifier: Apache-2.0
//
// LUKS1 against QEMU's own implementation: headers that qemu-img made, data that it and qemu-io wrote, data that we
// wrote. The cells beyond 2 TiB tell a 32-bit sector number from a 64-bit one (after QEMU's iotest 149).
#include <gtest/gtest.h>

#include <sys/stat.h>

#include "tests/interop/data.h"
#include "tests/interop/foreign.h"
#include "tests/support/requires.h"

namespace nbdcrypt::test {
namespace {

struct Cell {
  Cipher cipher;
  std::string hash;

  friend void PrintTo(const Cell& cell, std::ostream* out) {
    PrintTo(cell.cipher, out);
    *out << ", " << cell.hash;
  }
};

// Every mode with every IV and key size, and every hash that QEMU and libcryptsetup both know.
std::vector<Cell> cells() {
  std::vector<Cell> all;
  for (const std::string iv : {"plain", "plain64", "essiv:sha256"}) {
    for (const int bits : {128, 256}) {
      all.push_back({{"aes-xts-" + iv, 2 * bits}, "sha256"});
      all.push_back({{"aes-cbc-" + iv, bits}, "sha256"});
    }
  }
  for (const char* hash : {"sha1", "sha224", "sha384", "sha512", "ripemd160"})
    all.push_back({{"aes-xts-plain64", 512}, hash});
  return all;
}

std::string name_of(const testing::TestParamInfo<Cell>& info) {
  return test_name(info.param.cipher.spec + "_" + std::to_string(info.param.cipher.key_bits) + "_" + info.param.hash);
}

class Luks1Qemu : public testing::TestWithParam<Cell> {
 protected:
  static constexpr std::size_t kDataBytes = (1 << 20) + 3 * 512;

  static void TearDownTestSuite() { report_count("luks1 qemu oracle", cells_); }
  static inline int cells_ = 0;

  Bytes written_by_qemu() {
    Bytes plaintext = random_bytes(kDataBytes, 1);
    write_bytes(dir_ / "plain", plaintext);
    qemu::write_whole(image_, key_file_, dir_ / "plain");
    const Bytes patch(3000, 0x5a);  // qemu-io, from the middle of one sector to the middle of another
    qemu::io(image_, key_file_, {"write -P 0x5a 100100 3000"});
    std::copy(patch.begin(), patch.end(), plaintext.begin() + 100100);
    return plaintext;
  }

  Bytes read_by_qemu() {
    qemu::read_whole(image_, key_file_, dir_ / "out");
    return read_bytes(dir_ / "out");
  }

  TempDir dir_;
  std::string image_ = dir_ / "image";
  std::string key_file_ = dir_.file("key", "oracle");
};

TEST_P(Luks1Qemu, AgreesWithQemuBothWays) {
  NBDCRYPT_REQUIRE_TOOL("qemu-img");
  NBDCRYPT_REQUIRE_TOOL("qemu-io");
  NBDCRYPT_REQUIRE_TOOL("nbdkit");
  qemu::create_luks(image_, key_file_, GetParam().cipher, GetParam().hash, kDataBytes);
  Bytes shadow = written_by_qemu();
  {
    Server server({"file=" + image_, "key-file=" + key_file_});
    Client volume = server.connect();
    expect_holds(volume, shadow, 2);
    overwrite(volume, shadow, 3);
  }
  EXPECT_TRUE(read_by_qemu() == shadow);
  if (!HasFailure()) ++cells_;
}

INSTANTIATE_TEST_SUITE_P(Qemu, Luks1Qemu, testing::ValuesIn(cells()), name_of);

class Luks1FourTebibytes : public testing::TestWithParam<Cipher> {
 protected:
  static constexpr std::uint64_t kImageBytes = std::uint64_t{4} << 40;
  static constexpr std::uint64_t kFar = std::uint64_t{3} << 40;
  static constexpr std::uint64_t kNear = 100 << 20;

  static void TearDownTestSuite() { report_count("luks1 qemu oracle at 3 TiB", cells_); }
  static inline int cells_ = 0;

  // A folder whose file system takes a sparse file of that size: memory, else the current folder.
  static std::string roomy_folder() {
    for (const char* folder : {"/dev/shm", "."}) {
      const TempDir dir(folder);
      const std::string file = dir.file("probe", "");
      if (truncate(file.c_str(), static_cast<off_t>(kImageBytes) + (1 << 24)) == 0) return folder;
    }
    return {};
  }
};

TEST_P(Luks1FourTebibytes, PatternsAt100MiBAnd3TiBAgreeBothWays) {
  NBDCRYPT_REQUIRE_TOOL("qemu-img");
  NBDCRYPT_REQUIRE_TOOL("qemu-io");
  NBDCRYPT_REQUIRE_TOOL("nbdkit");
  const std::string folder = roomy_folder();
  NBDCRYPT_REQUIRE(!folder.empty(), "a file system that takes a sparse file of 4 TiB");
  const TempDir dir(folder);
  const std::string image = dir / "image", key_file = dir.file("key", "oracle");
  qemu::create_luks(image, key_file, GetParam(), "sha256", kImageBytes);
  qemu::io(image, key_file, {"write -P 0x3c 100M 70000", "write -P 0x5a 3T 70000"});
  {
    Server server({"file=" + image, "key-file=" + key_file});
    Client volume = server.connect();
    EXPECT_EQ(volume.size(), kImageBytes);
    Bytes got(70000);
    volume.read(kNear, got);
    EXPECT_TRUE(got == Bytes(70000, 0x3c));
    volume.read(kFar, got);
    EXPECT_TRUE(got == Bytes(70000, 0x5a));
    volume.write(kNear + 1001, Bytes(5000, 0x11));
    volume.write(kFar + 1001, Bytes(5000, 0x22));
    volume.write(kFar + (1 << 20), Bytes(65536, 0x33));
    volume.flush();
  }
  qemu::io(
      image, key_file,
      {"read -P 0x3c 100M 1001", "read -P 0x11 104858601 5000", "read -P 0x3c 104863601 63999", "read -P 0x5a 3T 1001",
       "read -P 0x22 3298534884329 5000", "read -P 0x5a 3298534889329 63999", "read -P 0x33 3298535931904 65536"});
  if (!HasFailure()) ++cells_;
}

INSTANTIATE_TEST_SUITE_P(Qemu, Luks1FourTebibytes,
                         testing::Values(Cipher{"aes-xts-plain64", 512}, Cipher{"aes-xts-plain", 512},
                                         Cipher{"aes-cbc-plain64", 256}, Cipher{"aes-cbc-essiv:sha256", 256}),
                         [](const auto& cell) { return test_name(cell.param.spec); });

}  // namespace
}  // namespace nbdcrypt::test
