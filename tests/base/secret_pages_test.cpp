// SPDX-License-Identifier: Apache-2.0
//
// What the kernel says of the pages of a secret: VmFlags in /proc/self/smaps ("lo" locked, "dd" left out of core
// dumps). Not built where something answers in the kernel's place: sanitizers make nothing of mlock(), emulators of
// user mode nothing of madvise().
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "base/secret.h"

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

bool is_locked(const void* at) { return flags_of(at).find(" lo ") != std::string::npos; }

TEST(SecretPages, AreLockedAndLeftOutOfCoreDumps) {
  SecretBuffer secret(100);
  EXPECT_TRUE(is_locked(secret.data()));
  EXPECT_NE(flags_of(secret.data()).find(" dd "), std::string::npos);
  EXPECT_TRUE(secrets_locked());
  secret.grow(1 << 20);
  EXPECT_TRUE(is_locked(secret.data()));
  const Secret<int> object(std::in_place, 7);
  EXPECT_TRUE(is_locked(&*object));
}

TEST(SecretPages, AreLockedAgainInAChildOnlyAfterLockSecretsAgain) {
  SecretBuffer secret(5000);
  const pid_t child = fork();
  if (child == 0) {
    const bool before = is_locked(secret.data());
    lock_secrets_again();
    const bool after = is_locked(secret.data() + 4999);
    _exit((before ? 1 : 0) | (after ? 0 : 2));
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(SecretPages, LocksThatFailAreReported) {
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

}  // namespace
}  // namespace nbdcrypt::base
