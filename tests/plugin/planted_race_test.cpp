// SPDX-License-Identifier: Apache-2.0
//
// Only in builds with ThreadSanitizer, where every other test of the plugin runs as well.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "tests/plugin/images.h"
#include "tests/support/server.h"

namespace nbdcrypt::test {
namespace {

TEST(PlantedRace, EndsTheServerWithAReport) {
  const TempDir dir;
  Server server({"file=" + luks2(dir, kMiB), "key-file=" + secret_file(dir)}, {}, NBDCRYPT_PLUGIN,
                // before the sanitizer, or its own pread() comes between
                {{"LD_PRELOAD", NBDCRYPT_PLANTED_RACE ":" NBDCRYPT_SANITIZER_PRELOAD}});
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  const auto read = [&] {
    try {
      Client client = server.connect();
      Bytes data(4096);
      while (std::chrono::steady_clock::now() < end) client.read(0, data);
    } catch (const std::exception&) {  // the server has ended
    }
  };
  {
    std::vector<std::jthread> clients;
    for (int i = 0; i < 8; ++i) clients.emplace_back(read);
  }
  EXPECT_FALSE(server.alive());
  EXPECT_THAT(server.errors(), testing::HasSubstr("WARNING: ThreadSanitizer: data race"));
  EXPECT_THAT(server.errors(), testing::HasSubstr("planted_reads"));
}

}  // namespace
}  // namespace nbdcrypt::test
