// SPDX-License-Identifier: Apache-2.0
//
// Keys of plain volumes and the reading of their secrets, against the table in tests/vectors/plain_keys.vec.
#include <gmock/gmock.h>

#include "tests/vectors/vec_file.h"
#include "tests/volume/luks_fixtures.h"
#include "tests/volume/standard_input.h"

namespace nbdcrypt::test {
namespace {

using base::Kind;
using testing::HasSubstr;
using volume::plain_key;
using volume::read_key_file;
using volume::SecretKind;

struct Row {
  std::string hash;
  std::size_t key_bytes;
  std::string path;
  std::uint64_t limit, offset;
};

Row row_of(const VecRecord& record, const TempDir& dir) {
  const auto number = [&](const char* name) { return record.has(name) ? record.number(name) : 0; };
  std::string path;
  if (record.has("Path")) {
    path = record.text("Path");
  } else {
    const std::vector<std::uint8_t> secret = record.bytes("Secret");
    path = dir.file("secret", std::string(secret.begin(), secret.end()));
  }
  return {record.text("Hash"), record.number("Bits") / 8, path, number("Limit"), number("Offset")};
}

/// What the command line does for each source of a secret.
volume::Credential read_as(const std::string& source, const Row& row) {
  if (source == "key file") return {SecretKind::key_file, read_key_file(row.path, row.offset, row.key_bytes)};
  const StandardInput input(row.path);
  if (source == "line") return {SecretKind::passphrase, read_key_file("-", row.offset, row.limit, true)};
  return {SecretKind::passphrase, read_key_file("-", row.offset, row.hash == "plain" ? row.key_bytes : row.limit)};
}

TEST(PlainKey, IsTheOneOfTheTable) {
  const std::size_t rows = for_each_record("plain_keys.vec", [](const VecRecord& record) {
    SCOPED_TRACE(record.where());
    TempDir dir;
    const Row row = row_of(record, dir);
    const auto key = [&] { return hex(plain_key(row.hash, row.key_bytes, read_as(record.section(), row))); };
    const bool optional = record.has("Optional") && record.text("Optional") == "yes";
    if (record.has("Refused")) {
      EXPECT_EQ(record.text("Refused"), "yes");
      const base::Error error = error_of([&] { key(); });
      EXPECT_EQ(error.kind(), Kind::usage);
      EXPECT_THAT(error.what(), HasSubstr("hash " + row.hash));
      return;
    }
    const std::string& expected = record.text("Key");
    try {
      EXPECT_EQ(key(), expected);
    } catch (const base::Error& error) {
      EXPECT_TRUE(optional) << error.what();
      EXPECT_THAT(error.what(), HasSubstr("hash " + row.hash));
    }
  });
  EXPECT_EQ(rows, 55u);
}

TEST(PlainKey, RefusesKeyFilesAndVolumeKeysThatAreTooShort) {
  const base::Error file = error_of([] { plain_key("sha256", 32, credential("0123456789", SecretKind::key_file)); });
  EXPECT_EQ(file.kind(), Kind::usage);
  EXPECT_STREQ(file.what(), "plain: a key file of 10 bytes, expected 32");
  for (const std::size_t bytes : {31, 33}) {
    const base::Error key =
        error_of([&] { plain_key("sha256", 32, credential(std::string(bytes, 'k'), SecretKind::volume_key)); });
    EXPECT_EQ(key.kind(), Kind::usage);
    EXPECT_THAT(key.what(), HasSubstr("a volume key of " + std::to_string(bytes) + " bytes, expected 32"));
  }
}

TEST(PlainKey, TakesAVolumeKeyAsItIs) {
  const std::string key(32, 'k');
  EXPECT_EQ(text_of(plain_key("sha256", 32, credential(key, SecretKind::volume_key))), key);
}

TEST(PlainKey, RefusesAnUnknownHashByName) {
  const base::Error error = error_of([] { plain_key("no-such-hash", 32, credential("xxx")); });
  EXPECT_EQ(error.kind(), Kind::usage);
  EXPECT_THAT(error.what(), HasSubstr("hash no-such-hash: not known"));
}

TEST(PlainKey, HashesAnEmptyPassphrase) {
  EXPECT_EQ(hex(plain_key("sha256", 32, credential(""))),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

}  // namespace
}  // namespace nbdcrypt::test
