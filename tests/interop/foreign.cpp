// SPDX-License-Identifier: Apache-2.0
#include "tests/interop/foreign.h"

#include <algorithm>
#include <cctype>
#include <stdexcept>

namespace nbdcrypt::test {

std::string test_name(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return !std::isalnum(c); }, '_');
  return text;
}

namespace cryptsetup {

void reencrypt_encrypt(const std::string& image, const std::string& key_file, const Cipher& cipher, int sector_bytes) {
  check({"cryptsetup",
         "reencrypt",
         "--encrypt",
         "--type",
         "luks2",
         "--reduce-device-size",
         std::to_string(kReserveBytes >> 20) + "M",
         "-q",
         "--key-file",
         key_file,
         "--pbkdf",
         "pbkdf2",
         "--pbkdf-force-iterations",
         "1000",
         "-c",
         cipher.spec,
         "-s",
         std::to_string(cipher.key_bits),
         "--sector-size",
         std::to_string(sector_bytes),
         image});
}

void reencrypt_decrypt(const std::string& image, const std::string& key_file, const std::string& header) {
  check({"cryptsetup", "reencrypt", "--decrypt", "--header", header, "--force-offline-reencrypt", "-q", "--key-file",
         key_file, image});
}

}  // namespace cryptsetup

namespace qemu {
namespace {

// The iteration counts are found by CPU time, which is now and then too short for QEMU to measure.
constexpr const char* kTooFast = "Unable to get accurate CPU usage";

}  // namespace

void create_luks(const std::string& image, const std::string& key_file, const Cipher& cipher, const std::string& hash,
                 std::uint64_t bytes) {
  const bool xts = cipher.spec.starts_with("aes-xts-");
  std::string iv = cipher.spec.substr(8);
  if (iv == "essiv:sha256") iv = "essiv,ivgen-hash-alg=sha256";
  const std::string options =
      "key-secret=key,cipher-alg=aes-" + std::to_string(xts ? cipher.key_bits / 2 : cipher.key_bits) +
      ",cipher-mode=" + (xts ? "xts" : "cbc") + ",ivgen-alg=" + iv + ",hash-alg=" + hash + ",iter-time=10";
  const Args command = {"qemu-img",           "create",         "-q", "-f",    "luks",
                        "--object",           secret(key_file), "-o", options, image,
                        std::to_string(bytes)};
  for (int tries = 1;; ++tries) {
    const Result result = run(command);
    if (result.ok()) return;
    if (tries == 20 || result.err.find(kTooFast) == std::string::npos) throw std::runtime_error(result.err);
  }
}

std::string luks_options(const std::string& image) {
  return "driver=luks,key-secret=key,file.driver=file,file.filename=" + image;
}

std::string secret(const std::string& key_file) { return "secret,id=key,file=" + key_file; }

void read_whole(const std::string& image, const std::string& key_file, const std::string& plaintext_file) {
  check({"qemu-img", "convert", "--object", secret(key_file), "--image-opts", luks_options(image), "-O", "raw",
         plaintext_file});
}

void write_whole(const std::string& image, const std::string& key_file, const std::string& plaintext_file) {
  check({"qemu-img", "convert", "-n", "--object", secret(key_file), "-f", "raw", plaintext_file, "--target-image-opts",
         luks_options(image)});
}

void io(const std::string& image, const std::string& key_file, const Args& commands) {
  Args command = {"qemu-io", "--object", secret(key_file), "--image-opts", luks_options(image)};
  for (const std::string& text : commands) command.insert(command.end(), {"-c", text});
  const std::string said = check(command);
  if (said.find("Pattern verification failed") != std::string::npos) throw std::runtime_error(said);
}

}  // namespace qemu
}  // namespace nbdcrypt::test
