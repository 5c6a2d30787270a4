// SPDX-License-Identifier: Apache-2.0
//
// The real program and the real cryptsetup, side by side.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tests/support/process.h"

namespace nbdcrypt::test {

inline Args operator+(Args words, const Args& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

inline Result nbdcrypt(const Args& words, const RunOptions& options = {}) {
  return run(Args{NBDCRYPT_PROGRAM} + words, options);
}
inline Result cryptsetup(const Args& words, const RunOptions& options = {}) {
  return run(Args{"cryptsetup"} + words, options);
}

/// Whether two contents are the same; says where they differ, and does not print megabytes.
inline testing::AssertionResult same(const std::string& a, const std::string& b) {
  if (a == b) return testing::AssertionSuccess();
  const auto differs = std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin();
  return testing::AssertionFailure() << a.size() << " and " << b.size() << " bytes, which differ from byte " << differs;
}

/// A key derivation that costs nothing, for tests that are about something else.
inline const Args kFast = {"--pbkdf", "pbkdf2", "--pbkdf-force-iterations", "1000"};

inline constexpr char kUuid[] = "12345678-1234-4321-8888-123456789abc";

}  // namespace nbdcrypt::test
