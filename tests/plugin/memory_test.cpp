// SPDX-License-Identifier: Apache-2.0
//
// Secrets in the memory of a server that went into the background, searched from outside through /proc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <regex>
#include <sstream>

#include "tests/plugin/backends.h"
#include "tests/plugin/daemon.h"
#include "tests/plugin/images.h"
#include "tests/support/requires.h"

namespace nbdcrypt::test {
namespace {

struct Mapping {
  std::uint64_t begin, end;
  std::string access, flags, line;
  // Locked into memory and left out of core dumps: "lo" and "dd" of proc(5), smaps.
  bool for_secrets() const { return has("lo") && has("dd"); }
  bool has(const std::string& flag) const { return (" " + flags + " ").find(" " + flag + " ") != std::string::npos; }
};

std::string of_process(pid_t pid, const std::string& file) { return "/proc/" + std::to_string(pid) + "/" + file; }

std::vector<Mapping> mappings(pid_t pid) {
  std::ifstream smaps(of_process(pid, "smaps"));
  std::vector<Mapping> found;
  for (std::string line; std::getline(smaps, line);) {
    Mapping mapping{};
    char dash;
    std::istringstream words(line);
    if (words >> std::hex >> mapping.begin >> dash >> mapping.end >> mapping.access && dash == '-') {
      mapping.line = line;
      found.push_back(mapping);
    } else if (line.starts_with("VmFlags:")) {
      found.back().flags = line.substr(8);
    }
  }
  return found;
}

struct Found {
  std::size_t in_secret_memory = 0;
  std::vector<std::string> elsewhere;  // the mappings
};

// Every occurrence of `needle` in the memory of the process.
Found search(pid_t pid, const std::string& needle) {
  std::ifstream memory(of_process(pid, "mem"), std::ios::binary);
  Found found;
  for (const Mapping& mapping : mappings(pid)) {
    if (mapping.access[0] != 'r' || mapping.line.ends_with("[vvar]") || mapping.line.ends_with("[vsyscall]")) continue;
    std::string content(mapping.end - mapping.begin, '\0');
    memory.clear();
    memory.seekg(static_cast<std::streamoff>(mapping.begin));
    memory.read(content.data(), static_cast<std::streamsize>(content.size()));
    content.resize(static_cast<std::size_t>(std::max<std::streamsize>(memory.gcount(), 0)));
    for (std::size_t at = content.find(needle); at != std::string::npos; at = content.find(needle, at + 1)) {
      if (mapping.for_secrets())
        ++found.in_secret_memory;
      else
        found.elsewhere.push_back(mapping.line);
    }
  }
  return found;
}

std::uint64_t kib_of(pid_t pid, const std::string& field) {
  std::smatch match;
  const std::string status = read_file(of_process(pid, "status"));
  return std::regex_search(status, match, std::regex(field + ":\\s+(\\d+) kB")) ? std::stoull(match[1]) : 0;
}

std::string random_bytes(std::size_t bytes) {
  std::ifstream random("/dev/urandom", std::ios::binary);
  std::string made(bytes, '\0');
  random.read(made.data(), static_cast<std::streamsize>(bytes));
  return made;
}

// Less memory to search than with the stacks of sixteen.
const Args kTwoThreads{"-t", "2"};

class PluginMemory : public testing::Test {
 protected:
  /// Of XTS with 256 bits: the first two round keys of the data and of the tweak. Those that are derived from them are
  /// looked for where SectorCipher is tested.
  void expect_in_secret_memory_only(const Daemon& server) const {
    for (std::size_t at = 0; at < key_.size(); at += 16) {
      SCOPED_TRACE("byte " + std::to_string(at) + " of the volume key");
      const Found found = search(server.pid(), key_.substr(at, 16));
      EXPECT_GT(found.in_secret_memory, 0u) << "not found at all: the search is wrong";
      EXPECT_THAT(found.elsewhere, testing::IsEmpty());
    }
  }

  const TempDir dir_;
  const std::string key_ = random_bytes(64);
  const std::string key_file_ = dir_.file("volume-key", key_);
};

// Reads and writes once, so that everything that touches keys has run.
void use(const Daemon& server) {
  Client client = server.connect();
  Bytes data = pattern(10'000, 1);
  client.write(77, data);
  client.read(77, data);
}

TEST_F(PluginMemory, KeysStayLockedAfterTheForkAndCoresAreForbidden) {
  const Daemon server({"file=" + luks2(dir_, kMiB), "key-file=" + secret_file(dir_)});
  EXPECT_GT(kib_of(server.pid(), "VmLck"), 0u);
  EXPECT_THAT(read_file(of_process(server.pid(), "limits")), testing::ContainsRegex("Max core file size +0 +0 "));
  EXPECT_EQ(server.said(), "");
}

TEST_F(PluginMemory, KeysThatCannotBeLockedAreServedWithAWarning) {
  NBDCRYPT_REQUIRE_TOOL("setpriv");
  NBDCRYPT_REQUIRE_TOOL("prlimit");
  Args wrapper{"prlimit", "--memlock=0:0"};
  if (geteuid() == 0) wrapper.insert(wrapper.begin(), {"setpriv", "--bounding-set=-ipc_lock", "--inh-caps=-ipc_lock"});
  const Daemon server({"file=" + luks2(dir_, kMiB), "key-file=" + secret_file(dir_)}, {.wrapper = wrapper});
  EXPECT_THAT(server.said(), testing::HasSubstr("warning: the keys could not be locked into memory"));
  EXPECT_EQ(kib_of(server.pid(), "VmLck"), 0u);
  EXPECT_EQ(server.connect().size(), kMiB);
}

TEST_F(PluginMemory, VolumeKeyLiesInLockedAndUndumpedMemoryOnly) {
  const Daemon server({"file=" + luks2(dir_, kMiB, {"--volume-key-file", key_file_}), "key-file=" + secret_file(dir_)},
                      {.nbdkit = kTwoThreads});
  use(server);
  expect_in_secret_memory_only(server);
}

TEST_F(PluginMemory, NoBackendCopiesTheKeyElsewhere) {
  const std::string image = luks2(dir_, kMiB, {"--volume-key-file", key_file_});
  for (const std::string& backend : backends()) {
    SCOPED_TRACE(backend);
    const Daemon server({"file=" + image, "volume-key-file=" + key_file_, "backend=" + backend},
                        {.nbdkit = kTwoThreads});
    use(server);
    expect_in_secret_memory_only(server);
  }
}

TEST_F(PluginMemory, NothingOfTheKeyFileIsLeft) {
  const std::string secret = random_bytes(48);
  const std::string image = dir_.sparse("image", 18 * kMiB), file = dir_.file("random", secret);
  check({"cryptsetup", "luksFormat", "-q", "--type", "luks2", "--pbkdf", "pbkdf2", "--pbkdf-force-iterations", "1000",
         image, file});
  const Daemon server({"file=" + image, "key-file=" + file}, {.nbdkit = kTwoThreads});
  use(server);
  const Found found = search(server.pid(), secret.substr(8, 24));
  EXPECT_EQ(found.in_secret_memory, 0u);
  EXPECT_THAT(found.elsewhere, testing::IsEmpty());
}

TEST_F(PluginMemory, MemoryOfTheKeyDerivationIsGivenBack) {
  const std::string image = dir_.sparse("image", 17 * kMiB), secret = secret_file(dir_);
  check({"cryptsetup", "luksFormat", "-q", "--type", "luks2", "--pbkdf", "argon2id", "--pbkdf-force-iterations", "4",
         "--pbkdf-memory", "65536", "--pbkdf-parallel", "1", image, secret});
  const Daemon server({"file=" + image, "key-file=" + secret});
  EXPECT_LT(kib_of(server.pid(), "RssAnon"), 32u * 1024);
  EXPECT_GT(kib_of(server.pid(), "RssAnon"), 0u);
}

}  // namespace
}  // namespace nbdcrypt::test
