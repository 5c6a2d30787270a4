// SPDX-License-Identifier: Apache-2.0
#include "base/error.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace nbdcrypt::base {
namespace {

TEST(Error, KindsHaveTheExitCodesOfCryptsetup) {
  EXPECT_EQ(exit_code(Kind::usage), 1);
  EXPECT_EQ(exit_code(Kind::format), 1);
  EXPECT_EQ(exit_code(Kind::unsupported), 1);
  EXPECT_EQ(exit_code(Kind::io), 1);
  EXPECT_EQ(exit_code(Kind::passphrase), 2);
  EXPECT_EQ(exit_code(Kind::memory), 3);
  EXPECT_EQ(exit_code(Kind::device), 4);
  EXPECT_EQ(exit_code(Kind::busy), 5);
}

Error thrown_by(void (*thrower)(const std::string&, int), const std::string& what, int os_error) {
  try {
    thrower(what, os_error);
  } catch (const Error& error) { return error; }
  throw std::logic_error("nothing was thrown");
}

TEST(Error, OsErrorsCarryTheirErrnoAndItsText) {
  const Error error = thrown_by(throw_os_error, "disk.img: write of 512 bytes at 0", ENOSPC);
  EXPECT_STREQ(error.what(), "disk.img: write of 512 bytes at 0: No space left on device");
  EXPECT_EQ(error.os_error(), ENOSPC);
  EXPECT_EQ(error.kind(), Kind::io);
  EXPECT_EQ(thrown_by(throw_os_error, "x", ENOMEM).kind(), Kind::memory);
}

TEST(Error, FilesThatCannotBeOpenedAreWrongDevices) {
  for (int os_error : {ENOENT, ENOTDIR, EISDIR, EACCES, EPERM, EROFS, ELOOP, ENXIO, ENODEV}) {
    EXPECT_EQ(thrown_by(throw_open_error, "disk.img", os_error).kind(), Kind::device) << os_error;
  }
  EXPECT_EQ(thrown_by(throw_open_error, "disk.img", EBUSY).kind(), Kind::busy);
  EXPECT_EQ(thrown_by(throw_open_error, "disk.img", EMFILE).kind(), Kind::io);
}

}  // namespace
}  // namespace nbdcrypt::base
