// SPDX-License-Identifier: Apache-2.0
//
// What a test needs from outside. A test whose needs are not met is skipped and says what is missing; with
// NBDCRYPT_STRICT=1 that is a failure, except for the foreign images, which may not be shipped.
#pragma once

#include <gtest/gtest.h>

#include <string>

namespace nbdcrypt::test {

bool have_tool(const std::string& program);
bool strict();

/// The folder of foreign volumes: $NBDCRYPT_IMAGES, else ../shared/images beside the source tree; empty when absent.
std::string images_dir();

}  // namespace nbdcrypt::test

/// First line of a test: skips (strict: fails) when `condition` does not hold; `missing` says what that is.
#define NBDCRYPT_REQUIRE(condition, missing)                              \
  do {                                                                    \
    if (!(condition)) {                                                   \
      if (::nbdcrypt::test::strict()) FAIL() << "missing: " << (missing); \
      GTEST_SKIP() << "missing: " << (missing);                           \
    }                                                                     \
  } while (false)
#define NBDCRYPT_REQUIRE_TOOL(program) NBDCRYPT_REQUIRE(::nbdcrypt::test::have_tool(program), program)
#define NBDCRYPT_REQUIRE_IMAGES()                                                                                \
  do {                                                                                                           \
    if (::nbdcrypt::test::images_dir().empty()) GTEST_SKIP() << "missing: the foreign images (NBDCRYPT_IMAGES)"; \
  } while (false)
