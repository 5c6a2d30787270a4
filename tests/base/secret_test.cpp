// SPDX-License-Identifier: Apache-2.0
//
// What the kernel says of the pages of a secret: VmFlags in /proc/self/smaps ("lo" locked, "dd" left out of core
// dumps).
#include "base/secret.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace nbdcrypt::base {
namespace {

/// The VmFlags of the mapping that holds `at`, " rd wr mr mw me lo dd ".
std::string flags_of(const void* at) {
  std::ifstream smaps("/proc/self/smaps");
  bool inside = false;
  for (std::string line; std::getline(smaps, line);) {
    std::uintptr_t from = 0, to = 0;
    char dash = 0;
    std::istringstream range(line);
    if (range >> std::hex >> from >> dash >> to && dash == '-') {
      inside = from <= reinterpret_cast<std::uintptr_t>(at) && reinterpret_cast<std::uintptr_t>(at) < to;
    } else if (inside && line.starts_with("VmFlags:")) {
      return line.substr(8) + " ";
    }
  }
  return {};
}

/// An emulator of user mode answers madvise() itself, and its program's addresses are not the kernel's.
#define REQUIRE_THE_KERNELS_PAGES() \
  if (NBDCRYPT_EMULATED) GTEST_SKIP() << "smaps does not show the pages of an emulated program"

TEST(SecretBuffer, IsZeroLockedAndLeftOutOfCoreDumps) {
  REQUIRE_THE_KERNELS_PAGES();
  SecretBuffer secret(100);
  for (Byte byte : secret.bytes()) EXPECT_EQ(byte, 0);
  EXPECT_EQ(secret.size(), 100u);
  EXPECT_NE(flags_of(secret.data()).find(" lo "), std::string::npos);
  EXPECT_NE(flags_of(secret.data()).find(" dd "), std::string::npos);
  EXPECT_TRUE(secrets_locked());
}

TEST(SecretBuffer, IsLockedAgainInAChildOnlyAfterLockSecretsAgain) {
  REQUIRE_THE_KERNELS_PAGES();
  SecretBuffer secret(5000);
  const pid_t child = fork();
  if (child == 0) {
    const bool before = flags_of(secret.data()).find(" lo ") != std::string::npos;
    lock_secrets_again();
    const bool after = flags_of(secret.data() + 4999).find(" lo ") != std::string::npos;
    _exit((before ? 1 : 0) | (after ? 0 : 2));
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(SecretBuffer, MovesWithoutCopying) {
  SecretBuffer a(std::vector<Byte>{1, 2, 3});
  const Byte* at = a.data();
  SecretBuffer b = std::move(a);
  EXPECT_EQ(b.data(), at);
  EXPECT_TRUE(a.empty());
  SecretBuffer c(7);
  c = std::move(b);
  EXPECT_EQ(c.data(), at);
  EXPECT_EQ(c.size(), 3u);
}

TEST(SecretBuffer, ShrinkWipesWhatItForgets) {
  SecretBuffer secret(std::vector<Byte>(64, 0xaa));
  secret.shrink(16);
  EXPECT_EQ(secret.size(), 16u);
  EXPECT_EQ(secret.data()[15], 0xaa);
  EXPECT_EQ(secret.data()[16], 0);
  EXPECT_EQ(secret.data()[63], 0);
}

TEST(SecretBuffer, GrowKeepsWhatIsThere) {
  REQUIRE_THE_KERNELS_PAGES();
  SecretBuffer secret(std::vector<Byte>{9, 8, 7});
  secret.grow(1 << 20);
  EXPECT_EQ(secret.size(), std::size_t{1} << 20);
  EXPECT_EQ(secret.data()[0], 9);
  EXPECT_EQ(secret.data()[2], 7);
  EXPECT_EQ(secret.data()[3], 0);
  EXPECT_NE(flags_of(secret.data()).find(" lo "), std::string::npos);
}

struct Counted {
  explicit Counted(int* alive) : alive_(alive) { ++*alive_; }
  ~Counted() { --*alive_; }
  int* alive_;
};

TEST(Secret, OwnsOneObjectInLockedPages) {
  REQUIRE_THE_KERNELS_PAGES();
  int alive = 0;
  {
    Secret<Counted> a(std::in_place, &alive);
    EXPECT_NE(flags_of(&*a).find(" lo "), std::string::npos);
    Secret<Counted> b(std::move(a));
    EXPECT_EQ(alive, 1);
    EXPECT_EQ(b->alive_, &alive);
  }
  EXPECT_EQ(alive, 0);
}

TEST(Secret, LocksThatFailAreReported) {
  const pid_t child = fork();
  if (child == 0) {
    const rlimit none{0, 0};
    setrlimit(RLIMIT_MEMLOCK, &none);
    if (setuid(65534) != 0) _exit(3);  // root may lock whatever the limit says
    SecretBuffer secret(10);
    _exit(secrets_locked() ? 1 : 0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (WEXITSTATUS(status) == 3) GTEST_SKIP() << "missing: the right to become another user";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(Wipe, OverwritesEveryByte) {
  std::vector<Byte> bytes(33, 1);
  wipe(bytes);
  EXPECT_EQ(bytes, std::vector<Byte>(33, 0));
  wipe({});
}

TEST(CoreDumps, AreForbiddenForGood) {
  const pid_t child = fork();
  if (child == 0) {
    forbid_core_dumps();
    rlimit limit{};
    getrlimit(RLIMIT_CORE, &limit);
    _exit(limit.rlim_cur == 0 && limit.rlim_max == 0 ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace nbdcrypt::base
