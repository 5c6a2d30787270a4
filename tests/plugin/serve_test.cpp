// SPDX-License-Identifier: Apache-2.0
//
// What is served: every way to name a volume and its secret, against ciphertext that others made (cryptsetup, qemu-img,
// openssl); and what opening a volume leaves alone.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "tests/plugin/daemon.h"
#include "tests/plugin/faults.h"
#include "tests/plugin/images.h"
#include "tests/support/requires.h"
#include "tests/support/server.h"

namespace nbdcrypt::test {
namespace {

Bytes read_all(Client& client, std::size_t bytes) {
  Bytes data(bytes);
  client.read(0, data);
  return data;
}

std::string text(const Bytes& bytes) { return {bytes.begin(), bytes.end()}; }

// Serves the image and returns what its first `bytes` bytes decrypt to.
Bytes served(const Args& args, std::size_t bytes) {
  const Server server(args);
  Client client = server.connect();
  return read_all(client, bytes);
}

// A pipe that holds `content`; its reading end is inherited by the programs that we start.
class InheritedPipe {
 public:
  explicit InheritedPipe(const std::string& content) {
    int ends[2];
    if (pipe(ends) != 0) throw std::runtime_error("pipe");
    fd_ = ends[0];
    if (write(ends[1], content.data(), content.size()) != static_cast<ssize_t>(content.size()))
      throw std::runtime_error("write");
    ::close(ends[1]);
  }
  ~InheritedPipe() { ::close(fd_); }
  int fd() const { return fd_; }
  std::string path() const { return "/dev/fd/" + std::to_string(fd_); }

 private:
  int fd_;
};

TEST(PluginServe, EveryWayToGiveTheSecretOpensTheSameVolume) {
  const TempDir dir;
  const Bytes key = pattern(64, 7);
  const std::string key_file = dir.file("key", text(key));
  const std::string image = luks2(dir, kMiB, {"--volume-key-file", key_file});
  const std::string secret = secret_file(dir), file = "file=" + image;
  const Bytes written = pattern(8192, 1);
  {
    const Server server({image, "key-file=" + secret});  // file= is the key that can be left out
    server.connect().write(0, written);
  }
  const std::string line = dir.file("line", kPassphrase + "\n"),
                    padded = dir.file("padded", "12345" + kPassphrase + "678");
  EXPECT_EQ(served({file, "passphrase=" + kPassphrase}, 8192), written);
  EXPECT_EQ(served({file, "passphrase=+" + line}, 8192), written);
  EXPECT_EQ(
      served({file, "key-file=" + padded, "keyfile-offset=5", "keyfile-size=" + std::to_string(kPassphrase.size())},
             8192),
      written);
  EXPECT_EQ(served({file, "volume-key-file=" + key_file}, 8192), written);
  EXPECT_EQ(served({file, "key-file=" + secret, "key-slot=0"}, 8192), written);
}

TEST(PluginServe, SecretsComeThroughInheritedPipes) {
  const TempDir dir;
  const Bytes key = pattern(64, 7);
  const std::string image = luks2(dir, kMiB, {"--volume-key-file", dir.file("key", text(key))});
  const InheritedPipe volume_key(text(key)), key_file(kPassphrase), line(kPassphrase + "\n");
  const Bytes zeros = served({"file=" + image, "volume-key-file=" + volume_key.path()}, 512);
  EXPECT_EQ(served({"file=" + image, "key-file=" + key_file.path()}, 512), zeros);
  EXPECT_EQ(served({"file=" + image, "passphrase=-" + std::to_string(line.fd())}, 512), zeros);
}

TEST(PluginServe, KeyFileMayBeStandardInput) {
  const TempDir dir;
  const std::string image = luks2(dir, kMiB);
  const Daemon server({"file=" + image, "key-file=-"}, {.input = kPassphrase});
  EXPECT_EQ(server.connect().size(), kMiB);
  EXPECT_EQ(server.said(), "");
}

TEST(PluginServe, PastThePageCacheTheSameBytesAreServed) {
  const TempDir dir(NBDCRYPT_DISK_FOLDER);
  const std::string image = luks2(dir, kMiB), secret = "key-file=" + secret_file(dir);
  const Bytes written = pattern(300'001, 1);
  {
    const Server server({"file=" + image, secret, "direct=true"});
    Client client = server.connect();
    client.write(77, written, true);
    Bytes seen(written.size());
    client.read(77, seen);
    EXPECT_EQ(seen, written);
  }
  Bytes seen = served({"file=" + image, secret}, 77 + written.size());
  seen.erase(seen.begin(), seen.begin() + 77);
  EXPECT_EQ(seen, written);
}

TEST(PluginServe, VolumeEndsWhereTheImageDoes) {
  const TempDir dir;
  const std::string image = luks1(dir, kMiB);
  const Server server({"file=" + image, "key-file=" + secret_file(dir)});
  EXPECT_EQ(server.connect().size(), kMiB);
}

TEST(PluginServe, DetachedHeaderServesTheWholeImage) {
  const TempDir dir;
  const std::string header = dir / "header", secret = secret_file(dir);
  const std::string data = dir.sparse("data", kMiB);
  check({"cryptsetup", "luksFormat", "-q", "--type", "luks2", "--pbkdf", "pbkdf2", "--pbkdf-force-iterations", "1000",
         "--header", header, data, secret});
  const Bytes written = pattern(4096, 3);
  {
    const Server server({"file=" + data, "header=" + header, "key-file=" + secret});
    Client client = server.connect();
    EXPECT_EQ(client.size(), kMiB);
    client.write(0, written);
  }
  EXPECT_NE(read_file(data).substr(0, 4096), std::string(4096, '\0'));
  EXPECT_EQ(served({"file=" + data, "header=" + header, "key-file=" + secret}, 4096), written);
}

// cryptsetup encrypts in place, offline, without the kernel: an independent witness of the bytes on disk.
TEST(PluginServe, ReadsAndWritesWhatCryptsetupDoes) {
  NBDCRYPT_REQUIRE(access("/run/cryptsetup", W_OK) == 0 || geteuid() == 0, "cryptsetup's folder of locks");
  const TempDir dir;
  const std::string secret = secret_file(dir), image = dir / "image";
  const Bytes before = pattern(kMiB, 11), after = pattern(65536, 12);
  dir.file("image", text(before));
  std::filesystem::resize_file(image, 32 * kMiB + kMiB);
  const Args derivation{"--pbkdf", "pbkdf2", "--pbkdf-force-iterations", "1000", "-q", "--key-file", secret};
  Args encrypt{"cryptsetup",           "reencrypt", "--encrypt",     "--type", "luks2",
               "--reduce-device-size", "32M",       "--sector-size", "4096",   image};
  encrypt.insert(encrypt.end() - 1, derivation.begin(), derivation.end());
  check(encrypt, {.directory = dir.path()});  // where it makes a temporary header
  {
    const Server server({"file=" + image, "type=luks2", "key-file=" + secret});
    Client client = server.connect();
    EXPECT_TRUE(read_all(client, kMiB) == before);
    client.write(12345, after);
  }
  check({"cryptsetup", "reencrypt", "--decrypt", "--header", dir / "header", "--force-offline-reencrypt", "-q",
         "--key-file", secret, image},
        {.directory = dir.path()});
  Bytes expected = before;
  std::copy(after.begin(), after.end(), expected.begin() + 12345);
  EXPECT_TRUE(read_file(image).substr(0, kMiB) == text(expected));
}

// qemu-img measures its key derivation, and at times says that it cannot: then again.
Result qemu_img(const Args& argv) {
  Result result;
  for (int tries = 0; tries < 5; ++tries) {
    result = run(argv);
    if (result.ok() || result.err.find("accurate CPU usage") == std::string::npos) break;
  }
  return result;
}

TEST(PluginServe, ReadsLuks1ThatQemuWrote) {
  NBDCRYPT_REQUIRE_TOOL("qemu-img");
  const TempDir dir;
  const Bytes data = pattern(kMiB, 13);
  const std::string plain = dir.file("plain", text(data)), secret = secret_file(dir), image = dir / "image";
  const Result converted = qemu_img({"qemu-img", "convert", "-f", "raw", "-O", "luks", "--object",
                                     "secret,id=s,file=" + secret, "-o", "key-secret=s,iter-time=10", plain, image});
  ASSERT_TRUE(converted.ok()) << converted.err;
  EXPECT_TRUE(served({"file=" + image, "type=luks1", "key-file=" + secret}, kMiB) == data);
}

std::string hex(std::uint64_t number, int bytes) {
  std::string digits;
  for (int i = 0; i < bytes; ++i) {
    char two[3];
    std::snprintf(two, sizeof two, "%02x", static_cast<unsigned>(i < 8 ? number >> (8 * i) & 255 : 0));
    digits += two;
  }
  return digits;
}

// One sector of AES-CBC with the IV plain64, by openssl.
std::string openssl_sector(const std::string& plaintext, const std::string& key_hex, std::uint64_t iv) {
  const std::string cipher = key_hex.size() == 64 ? "-aes-256-cbc" : "-aes-128-cbc";
  return check({"openssl", "enc", "-e", cipher, "-nopad", "-K", key_hex, "-iv", hex(iv, 16)}, {.input = plaintext});
}

class PluginServePlain : public testing::Test {
 protected:
  // An image of `sectors` encrypted sectors with these IV numbers, behind `offset_bytes` of something else.
  void make(std::size_t sector_bytes, std::size_t offset_bytes, const std::vector<std::uint64_t>& ivs) {
    plaintext_ = pattern(sector_bytes * ivs.size(), 21);
    std::string content(offset_bytes, 'x');
    for (std::size_t i = 0; i < ivs.size(); ++i) {
      content += openssl_sector(text(plaintext_).substr(i * sector_bytes, sector_bytes), key_hex_, ivs[i]);
    }
    image_ = dir_.file("image", content + std::string(4096, 'x'));
  }
  void expect_served(Args args) {
    args.insert(args.end(), {"file=" + image_, "type=plain", "cipher=aes-cbc-plain64", "key-size=128"});
    EXPECT_TRUE(served(args, plaintext_.size()) == plaintext_);
  }

  TempDir dir_;
  const std::string key_ = "0123456789abcdef";
  const std::string key_hex_ = "30313233343536373839616263646566";
  const std::string key_file_ = dir_.file("key", key_);
  std::string image_;
  Bytes plaintext_;
};

TEST_F(PluginServePlain, OffsetSkipAndSizeCountSectorsOf512Bytes) {
  NBDCRYPT_REQUIRE_TOOL("openssl");
  make(512, 3 * 512, {5, 6, 7, 8});
  expect_served({"key-file=" + key_file_, "offset=3", "skip=5", "size=4"});
  const Server server({"file=" + image_, "type=plain", "cipher=aes-cbc-plain64", "key-size=128",
                       "key-file=" + key_file_, "offset=3", "skip=5", "size=4"});
  EXPECT_EQ(server.connect().size(), 4 * 512u);
}

TEST_F(PluginServePlain, IvsOfLargeSectorsCount512Bytes) {
  NBDCRYPT_REQUIRE_TOOL("openssl");
  make(1024, 1024, {4, 6, 8});
  expect_served({"volume-key-file=" + key_file_, "offset=2", "skip=4", "sector-size=1024"});
}

TEST_F(PluginServePlain, IvLargeSectorsCountsSectors) {
  NBDCRYPT_REQUIRE_TOOL("openssl");
  make(1024, 1024, {2, 3, 4});
  expect_served({"volume-key-file=" + key_file_, "offset=2", "skip=4", "sector-size=1024", "iv-large-sectors=true"});
}

TEST_F(PluginServePlain, PassphraseIsHashedAndAKeyFileIsNot) {
  NBDCRYPT_REQUIRE_TOOL("openssl");
  const std::string digest = check({"openssl", "dgst", "-sha256", "-binary"}, {.input = kPassphrase});
  const std::string digest_hex = check({"openssl", "dgst", "-sha256", "-r"}, {.input = kPassphrase}).substr(0, 64);
  const Bytes data = pattern(512, 22);
  const std::string image = dir_.file("hashed", openssl_sector(text(data), digest_hex, 0));
  const Args plain{"file=" + image, "type=plain", "cipher=aes-cbc-plain64", "key-size=256", "hash=sha256"};
  const auto with = [&](const std::string& secret) {
    Args args = plain;
    args.push_back(secret);
    return served(args, 512);
  };
  EXPECT_EQ(with("passphrase=+" + secret_file(dir_)), data);
  EXPECT_EQ(with("key-file=" + dir_.file("digest", digest)), data);
}

class PluginServeUnchanged : public testing::TestWithParam<const char*> {};

TEST_P(PluginServeUnchanged, OpeningAndReadingChangesNoByte) {
  const TempDir dir;
  const std::string type = GetParam(), secret = secret_file(dir);
  Args args{"type=" + type, "key-file=" + secret};
  std::string image;
  if (type == "luks1") image = luks1(dir, kMiB);
  if (type == "luks2") image = luks2(dir, kMiB);
  if (type == "plain") {
    image = dir.sparse("image", kMiB);
    args = {"type=plain", "cipher=aes-xts-plain64", "key-size=256",
            "key-file=" + dir.file("key", std::string(32, 'k'))};
  }
  args.push_back("file=" + image);
  const std::string before = sha256_of_file(image);
  Server server(args);
  {
    Client client = server.connect();
    read_all(client, kMiB);
  }
  EXPECT_EQ(server.stop(), 0);
  EXPECT_EQ(sha256_of_file(image), before);
}
INSTANTIATE_TEST_SUITE_P(Types, PluginServeUnchanged, testing::Values("luks1", "luks2", "plain"),
                         [](const auto& test) { return std::string(test.param); });

// User and system time of a process, in clock ticks: what another process does is not in it.
long cpu_ticks(pid_t pid) {
  std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
  std::string field;
  long ticks = 0;
  for (int i = 1; i <= 15 && stat >> field; ++i) {
    if (i >= 14) ticks += std::stol(field);
  }
  return ticks;
}

TEST(PluginServe, KeyIsDerivedAndHeaderReadOncePerServer) {
  const TempDir dir;
  const std::string image = dir.sparse("image", 17 * kMiB), secret = secret_file(dir);
  check({"cryptsetup", "luksFormat", "-q", "--type", "luks2", "--pbkdf", "argon2id", "--pbkdf-force-iterations", "4",
         "--pbkdf-memory", "131072", "--pbkdf-parallel", "1", image, secret});
  FaultyServer faulty(image, {"key-file=" + secret});
  const long to_start = cpu_ticks(faulty.server().pid());
  EXPECT_GT(to_start, 20) << "the key derivation is too cheap for this test";
  faulty.calls();
  for (int connection = 0; connection < 5; ++connection) {
    Client client = faulty.connect();
    read_all(client, 4096);
  }
  EXPECT_LT(cpu_ticks(faulty.server().pid()) - to_start, to_start / 2);
  const auto calls = faulty.calls();
  EXPECT_FALSE(calls.empty());
  for (const FaultyServer::Call& call : calls) EXPECT_GE(call.offset, 16 * kMiB) << call.name;
}

}  // namespace
}  // namespace nbdcrypt::test
