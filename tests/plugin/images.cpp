// SPDX-License-Identifier: Apache-2.0
#include "tests/plugin/images.h"

#include <random>

namespace nbdcrypt::test {
namespace {

std::string format(const TempDir& dir, std::uint64_t data_bytes, const Args& type, const Args& options) {
  const std::string image = dir.sparse("image", kDataOffset + data_bytes);
  Args argv{"cryptsetup", "luksFormat", "-q", "--pbkdf-force-iterations", "1000"};
  argv.insert(argv.end(), type.begin(), type.end());
  argv.insert(argv.end(), options.begin(), options.end());
  argv.insert(argv.end(), {image, secret_file(dir)});
  check(argv);
  return image;
}

}  // namespace

std::string secret_file(const TempDir& dir) { return dir.file("secret", kPassphrase); }

std::string luks1(const TempDir& dir, std::uint64_t data_bytes, const Args& options) {
  return format(dir, data_bytes, {"--type", "luks1", "--offset", "4096"}, options);
}

std::string luks2(const TempDir& dir, std::uint64_t data_bytes, const Args& options) {
  return format(dir, data_bytes,
                {"--type", "luks2", "--pbkdf", "pbkdf2", "--luks2-metadata-size", "16k", "--luks2-keyslots-size", "1m"},
                options);
}

Bytes pattern(std::size_t bytes, std::uint32_t seed) {
  std::mt19937 random(seed);
  Bytes filled(bytes);
  for (std::uint8_t& byte : filled) byte = static_cast<std::uint8_t>(random() | 1u);
  return filled;
}

std::string sha256_of_file(const std::string& path) { return check({"sha256sum", "--", path}).substr(0, 64); }

}  // namespace nbdcrypt::test
