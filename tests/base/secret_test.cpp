// SPDX-License-Identifier: Apache-2.0
#include "base/secret.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vector>

namespace nbdcrypt::base {
namespace {

TEST(SecretBuffer, IsZeroAtFirst) {
  SecretBuffer secret(100);
  EXPECT_EQ(secret.size(), 100u);
  for (Byte byte : secret.bytes()) EXPECT_EQ(byte, 0);
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
  SecretBuffer secret(std::vector<Byte>{9, 8, 7});
  secret.grow(1 << 20);
  EXPECT_EQ(secret.size(), std::size_t{1} << 20);
  EXPECT_EQ(secret.data()[0], 9);
  EXPECT_EQ(secret.data()[2], 7);
  EXPECT_EQ(secret.data()[3], 0);
}

struct Counted {
  explicit Counted(int* alive) : alive_(alive) { ++*alive_; }
  ~Counted() { --*alive_; }
  int* alive_;
};

TEST(Secret, OwnsOneObject) {
  int alive = 0;
  {
    Secret<Counted> a(std::in_place, &alive);
    Secret<Counted> b(std::move(a));
    EXPECT_EQ(alive, 1);
    EXPECT_EQ(b->alive_, &alive);
  }
  EXPECT_EQ(alive, 0);
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
