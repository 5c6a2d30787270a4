// SPDX-License-Identifier: Apache-2.0
//
// Every backend that runs here, with every way to hand it work, writes the same image; and really ran.
#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <sstream>

#include "tests/plugin/backends.h"
#include "tests/plugin/images.h"
#include "tests/support/server.h"

namespace nbdcrypt::test {
namespace {

constexpr std::size_t kDataBytes = 200'003;

struct Count {
  std::string backend, op;
  unsigned long offload, blocks;
};

// "crypt: BACKEND OP: N offload calls, M block calls"
std::vector<Count> counts(const std::string& printed) {
  std::vector<Count> found;
  std::istringstream lines(printed);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string tag, word;
    Count count;
    if (words >> tag >> count.backend >> count.op >> count.offload >> word >> word >> count.blocks && tag == "crypt:") {
      found.push_back(count);
    }
  }
  return found;
}

// Nothing but `backend` was called, and the way that `offload` says.
void expect_ran(const std::vector<Count>& ran, const std::string& backend, const std::string& offload) {
  EXPECT_FALSE(ran.empty());
  unsigned long offload_calls = 0, block_calls = 0;
  for (const Count& count : ran) {
    EXPECT_EQ(count.backend, backend);
    offload_calls += count.offload;
    block_calls += count.blocks;
  }
  EXPECT_GT(offload_calls + block_calls, 0u);
  if (offload != "off") return;
  EXPECT_EQ(offload_calls, 0u);
  EXPECT_GT(block_calls, kDataBytes / 16);
}

class PluginBackend : public testing::TestWithParam<const char*> {};

TEST_P(PluginBackend, AllWriteTheSameImageAndReallyRan) {
  const TempDir dir;
  const std::string image = luks2(dir, kMiB, {"--sector-size", "512", "--cipher", GetParam()}),
                    untouched = dir / "untouched";
  std::filesystem::copy_file(image, untouched);
  const Bytes data = pattern(kDataBytes, 9);
  const auto names = backends();
  ASSERT_FALSE(names.empty());
  std::set<std::string> images;
  for (const std::string& name : names) {
    for (const std::string offload : {"off", "buffer", "batch"}) {
      SCOPED_TRACE(name + " " + offload);
      std::filesystem::copy_file(untouched, image, std::filesystem::copy_options::overwrite_existing);
      Server server({"file=" + image, "key-file=" + secret_file(dir), "backend=" + name, "offload=" + offload},
                    {"-D", "crypt.stats=1"});
      {
        Client client = server.connect();
        Bytes read(data.size());
        client.write(1001, data);
        client.read(1001, read);
        EXPECT_TRUE(read == data);
      }
      EXPECT_EQ(server.stop(), 0);
      images.insert(sha256_of_file(image));
      expect_ran(counts(server.errors()), name, offload);
    }
  }
  EXPECT_EQ(images.size(), 1u);
}
INSTANTIATE_TEST_SUITE_P(Ciphers, PluginBackend, testing::Values("aes-xts-plain64", "aes-cbc-essiv:sha256"),
                         [](const auto& test) { return std::string(test.param).substr(4, 3); });

TEST(PluginStats, NothingIsPrintedUnlessAskedFor) {
  const TempDir dir;
  Server server({"file=" + luks2(dir, kMiB), "key-file=" + secret_file(dir)});
  server.connect().write(0, pattern(4096, 1));
  EXPECT_EQ(server.stop(), 0);
  EXPECT_EQ(server.errors(), "");
}

}  // namespace
}  // namespace nbdcrypt::test
