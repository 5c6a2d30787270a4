// SPDX-License-Identifier: Apache-2.0
//
// What the server tells clients about the export, and what the plugin tells people about itself.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <regex>

#include "tests/plugin/images.h"
#include "tests/support/requires.h"
#include "tests/support/server.h"

namespace nbdcrypt::test {
namespace {

using testing::HasSubstr;

TEST(PluginExport, SupportsWhatAVolumeCanDo) {
  const TempDir dir;
  const Server server({"file=" + luks2(dir, kMiB), "key-file=" + secret_file(dir)});
  const Client client = server.connect();
  EXPECT_EQ(nbd_is_read_only(client.get()), 0);
  EXPECT_EQ(nbd_can_flush(client.get()), 1);
  EXPECT_EQ(nbd_can_fua(client.get()), 1);
  EXPECT_EQ(nbd_can_zero(client.get()), 1);
  EXPECT_EQ(nbd_can_fast_zero(client.get()), 1);
  EXPECT_EQ(nbd_can_cache(client.get()), 1);
  EXPECT_EQ(nbd_can_multi_conn(client.get()), 1);
  EXPECT_EQ(nbd_can_trim(client.get()), 0);
}

TEST(PluginExport, TrimIsOfferedOnlyWithAllowDiscards) {
  const TempDir dir;
  const std::string image = luks2(dir, kMiB);
  for (const bool allowed : {false, true}) {
    const Server server(
        {"file=" + image, "key-file=" + secret_file(dir), std::string("allow-discards=") + (allowed ? "yes" : "no")});
    EXPECT_EQ(nbd_can_trim(server.connect().get()), allowed);
  }
}

TEST(PluginExport, BlockSizesAllowAnythingAndPreferWholeSectors) {
  const TempDir dir;
  for (const char* sector : {"512", "4096"}) {
    const Server server({"file=" + luks2(dir, kMiB, {"--sector-size", sector}), "key-file=" + secret_file(dir)});
    const Client client = server.connect();
    EXPECT_EQ(nbd_get_block_size(client.get(), LIBNBD_SIZE_MINIMUM), 1);
    EXPECT_EQ(nbd_get_block_size(client.get(), LIBNBD_SIZE_PREFERRED), 4096);
    EXPECT_EQ(nbd_get_block_size(client.get(), LIBNBD_SIZE_MAXIMUM), 32 << 20);
  }
}

std::string description(const Server& server) {
  nbd_handle* nbd = nbd_create();
  std::string text;
  if (nbd_set_full_info(nbd, true) == 0 && nbd_connect_uri(nbd, server.uri().c_str()) == 0) {
    if (char* found = nbd_get_export_description(nbd)) {
      text = found;
      free(found);
    }
  }
  nbd_close(nbd);
  return text;
}

TEST(PluginExport, DescriptionNamesTypeCipherAndBackend) {
  const TempDir dir;
  const std::string image =
      luks2(dir, kMiB, {"--cipher", "aes-cbc-essiv:sha256", "--key-size", "128", "--sector-size", "4096"});
  const Server server({"file=" + image, "key-file=" + secret_file(dir), "backend=generic"});
  const std::string text = description(server);
  for (const char* part : {"LUKS2", "aes-cbc-essiv:sha256", "128-bit", "4096-byte", "generic"})
    EXPECT_THAT(text, HasSubstr(part));
}

TEST(PluginExport, AnyExportNameIsTheSameVolume) {
  const TempDir dir;
  const Server server({"file=" + luks2(dir, kMiB), "key-file=" + secret_file(dir)});
  const Client client("nbd+unix:///some-name?socket=" + server.socket());
  EXPECT_EQ(client.size(), kMiB);
}

Result nbdkit(const Args& args) {
  Args argv{"nbdkit"};
  argv.insert(argv.end(), args.begin(), args.end());
  return run(argv, {.environment = sanitizer_environment()});
}

TEST(PluginAbout, DumpPluginListsBackendsAndTypes) {
  const Result result = nbdkit({"--dump-plugin", NBDCRYPT_PLUGIN});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  for (const char* line :
       {"name=crypt\n", "magic_config_key=file\n", "thread_model=parallel\n", "max_thread_model=parallel\n",
        "crypt_types=luks1 luks2 plain\n", "crypt_backends=", "crypt_backend_default="}) {
    EXPECT_THAT(result.out, HasSubstr(line));
  }
  EXPECT_THAT(result.out, testing::ContainsRegex("crypt_backends=[^\n]*generic"));
}

// The keys of lines "KEY=VALUE  what it is".
std::vector<std::string> keys_of_help() {
  const std::regex line("(^|\n)([a-z-]+)=[^\n]* [^ \n]+");
  const std::string help = nbdkit({"--help", NBDCRYPT_PLUGIN}).out;
  std::vector<std::string> keys;
  for (std::sregex_iterator at(help.begin(), help.end(), line), end; at != end; ++at) keys.push_back((*at)[2]);
  return keys;
}

TEST(PluginAbout, HelpListsEveryKeyOnOneLine) {
  EXPECT_THAT(keys_of_help(),
              testing::UnorderedElementsAre("file", "type", "header", "passphrase", "key-file", "keyfile-offset",
                                            "keyfile-size", "volume-key-file", "key-slot", "cipher", "key-size", "hash",
                                            "sector-size", "offset", "skip", "size", "iv-large-sectors",
                                            "allow-discards", "readonly", "direct", "backend", "offload"));
}

TEST(PluginAbout, ManualPageDescribesEveryKeyOfTheHelp) {
  const std::string page = read_file(std::string(NBDCRYPT_SOURCE) + "/nbdkit-plugin/nbdkit-crypt-plugin.1");
  for (const std::string& key : keys_of_help()) EXPECT_THAT(page, HasSubstr(".It Cm " + key + " Ns = Ns"));
}

TEST(PluginAbout, ManualPageHasNoWarnings) {
  NBDCRYPT_REQUIRE_TOOL("mandoc");
  const Result lint = run(
      {"mandoc", "-T", "lint", "-W", "warning", std::string(NBDCRYPT_SOURCE) + "/nbdkit-plugin/nbdkit-crypt-plugin.1"});
  EXPECT_EQ(lint.exit_code, 0) << lint.out << lint.err;
}

TEST(PluginAbout, NothingButTheEntryPointsIsExported) {
  const std::string symbols = check({"nm", "-D", "--defined-only", "-j", NBDCRYPT_PLUGIN});
  EXPECT_EQ(symbols, "crypt_debug_stats\nplugin_init\n");
}

}  // namespace
}  // namespace nbdcrypt::test
