// SPDX-License-Identifier: Apache-2.0
//
// The main job from end to end, as a user does it with the command line, and cryptsetup alone as the judge of the
// result.
#include <gtest/gtest.h>

#include "tests/interop/cli.h"
#include "tests/interop/data.h"
#include "tests/interop/foreign.h"
#include "tests/support/requires.h"

namespace nbdcrypt::test {
namespace {

constexpr std::uint64_t kDataOffset = 16 << 20;  // of luksFormat's defaults
constexpr std::size_t kDataBytes = (2 << 20) + 3 * 4096;

struct Job {
  TempDir dir;
  std::string image = dir.sparse("image", kDataOffset + kDataBytes);
  std::string key_file = dir.file("key", "correct horse battery staple");

  void format(const Args& options) const {
    Args args = {"luksFormat", "--batch-mode", image, key_file};
    args.insert(args.end(), options.begin(), options.end());
    const Result result = nbdcrypt_cli(args);
    ASSERT_EQ(result.exit_code, 0) << result.err;
  }

  Bytes decrypted_by_cryptsetup() const {
    cryptsetup::reencrypt_decrypt(image, key_file, dir / "header");
    Bytes plaintext = read_bytes(image);
    plaintext.resize(kDataBytes);
    return plaintext;
  }
};

// Memory-hard, but with limits that a test machine can bear.
const Args kArgon2id = {"--pbkdf", "argon2id", "--pbkdf-memory", "65536", "--pbkdf-force-iterations", "4"};

TEST(MainJob, FormatServeWriteAndCryptsetupReadsIt) {
  NBDCRYPT_REQUIRE_TOOL("cryptsetup");
  NBDCRYPT_REQUIRE_TOOL("nbdkit");
  const Job job;
  job.format(kArgon2id);
  EXPECT_NE(check({"cryptsetup", "luksDump", job.image}).find("argon2id"), std::string::npos);
  EXPECT_TRUE(run({"cryptsetup", "open", "--test-passphrase", "--key-file", job.key_file, job.image}).ok());

  Bytes shadow(kDataBytes);
  {
    OpenVolume volume(job.image, {"--key-file", job.key_file});
    ASSERT_TRUE(volume.opened().ok()) << volume.opened().err;
    {
      Client client(volume.uri());
      overwrite(client, shadow, 1);
    }
    EXPECT_EQ(volume.close().exit_code, 0);
  }
  EXPECT_TRUE(job.decrypted_by_cryptsetup() == shadow);
}

TEST(MainJob, FormatAndCopyInAndCryptsetupReadsIt) {
  NBDCRYPT_REQUIRE_TOOL("cryptsetup");
  const Job job;
  job.format(kArgon2id);
  const Bytes plaintext = random_bytes(kDataBytes, 2);
  write_bytes(job.dir / "plain", plaintext);
  const Result copied = nbdcrypt_cli({"copy", "--encrypt", job.dir / "plain", job.image, "--key-file", job.key_file});
  ASSERT_EQ(copied.exit_code, 0) << copied.err;
  EXPECT_TRUE(job.decrypted_by_cryptsetup() == plaintext);
}

TEST(MainJob, CryptsetupOpensWhatTheDefaultsMake) {
  NBDCRYPT_REQUIRE_TOOL("cryptsetup");
  const Job job;
  job.format({});
  const std::string dump = check({"cryptsetup", "luksDump", job.image});
  for (const char* expected : {"Version:       \t2", "cipher: aes-xts-plain64", "Key:        512 bits", "argon2id"}) {
    EXPECT_NE(dump.find(expected), std::string::npos) << expected << "\n" << dump;
  }
  EXPECT_TRUE(run({"cryptsetup", "open", "--test-passphrase", "--key-file", job.key_file, job.image}).ok());
}

}  // namespace
}  // namespace nbdcrypt::test
