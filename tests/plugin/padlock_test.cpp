// SPDX-License-Identifier: Apache-2.0
//
// A real nbdkit on a processor with PadLock: the emulation is preloaded, and the plugin is linked with a CPUID that has
// one. What it writes is what every backend of this machine writes, each forced.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "tests/plugin/backends.h"
#include "tests/plugin/images.h"
#include "tests/support/server.h"

namespace nbdcrypt::test {
namespace {

constexpr std::size_t kDataBytes = 300'001;

Environment with_padlock() {
  std::string preload = NBDCRYPT_PADLOCK_PRELOAD;
  if (*NBDCRYPT_SANITIZER_PRELOAD != '\0') preload = std::string(NBDCRYPT_SANITIZER_PRELOAD) + ":" + preload;
  return {{"LD_PRELOAD", preload}};
}

class PluginPadlock : public testing::TestWithParam<const char*> {
 protected:
  /// Writes and reads through `server`; then the checksum of the image.
  std::string use(Server& server) {
    Client client = server.connect();
    Bytes read(data_.size());
    client.write(1001, data_);
    client.read(1001, read);
    EXPECT_TRUE(read == data_);
    client.flush();
    return sha256_of_file(image_);
  }

  void start_again() const {
    std::filesystem::copy_file(untouched_, image_, std::filesystem::copy_options::overwrite_existing);
  }

  Args arguments(const std::string& backend) const {
    return {"file=" + image_, "key-file=" + secret_file(dir_), "backend=" + backend};
  }

  void SetUp() override {
    image_ = luks2(dir_, kMiB, {"--sector-size", "4096", "--cipher", GetParam()});
    untouched_ = dir_ / "untouched";
    std::filesystem::copy_file(image_, untouched_);
  }

  const TempDir dir_;
  std::string image_, untouched_;
  const Bytes data_ = pattern(kDataBytes, 17);
};

TEST_P(PluginPadlock, WritesWhatEveryOtherBackendWrites) {
  std::string by_padlock;
  {
    Server server(arguments("via-padlock"), {"-D", "crypt.stats=1"}, NBDCRYPT_PADLOCK_PLUGIN, with_padlock());
    by_padlock = use(server);
    EXPECT_EQ(server.stop(), 0);
    EXPECT_THAT(server.errors(),
                testing::ContainsRegex("crypt: via-padlock [a-z]*-encrypt: [1-9][0-9]* offload calls"));
    EXPECT_THAT(server.errors(), testing::Not(testing::HasSubstr("crypt: generic")));
  }
  const auto names = backends();
  ASSERT_FALSE(names.empty());
  for (const std::string& name : names) {
    start_again();
    Server server(arguments(name));
    EXPECT_EQ(use(server), by_padlock) << name;
    EXPECT_EQ(server.stop(), 0);
  }
}

TEST_P(PluginPadlock, ReadsWhatAnotherBackendWrote) {
  {
    Server server(arguments("generic"));
    use(server);
    EXPECT_EQ(server.stop(), 0);
  }
  Server server(arguments("via-padlock"), {}, NBDCRYPT_PADLOCK_PLUGIN, with_padlock());
  Bytes read(data_.size());
  server.connect().read(1001, read);
  EXPECT_TRUE(read == data_);
}

TEST_P(PluginPadlock, ManyConnectionsHaveAUnitEach) {
  Server server(arguments("via-padlock"), {}, NBDCRYPT_PADLOCK_PLUGIN, with_padlock());
  std::vector<Client> clients;
  for (int i = 0; i < 4; ++i) clients.push_back(server.connect());
  for (std::size_t i = 0; i < 40; ++i) {
    const Bytes data = pattern(8192, static_cast<std::uint32_t>(i));
    clients[i % 4].write(8192 * i, data);
    Bytes read(data.size());
    clients[(i + 1) % 4].read(8192 * i, read);
    ASSERT_TRUE(read == data) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Ciphers, PluginPadlock,
                         testing::Values("aes-xts-plain64", "aes-cbc-essiv:sha256", "aes-cbc-plain64"),
                         [](const auto& test) {
                           std::string name = std::string(test.param).substr(4);
                           std::replace_if(
                               name.begin(), name.end(), [](char c) { return c == '-' || c == ':'; }, '_');
                           return name;
                         });

TEST(PluginPadlockAbsent, TheBackendIsRefusedByName) {
  const TempDir dir;
  const Result result = nbdkit_once({"file=x", "key-file=" + secret_file(dir), "backend=via-padlock"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, testing::HasSubstr("backend via-padlock: this processor cannot run it"));
}

}  // namespace
}  // namespace nbdcrypt::test
