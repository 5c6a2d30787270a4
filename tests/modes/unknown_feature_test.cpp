// SPDX-License-Identifier: Apache-2.0
//
// A misspelt NBDCRYPT_DISABLE_CPU. It is read once in a process: hence a program of its own.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <string>

#include "aes/cpu.h"
#include "base/error.h"
#include "modes/backend_choice.h"

namespace nbdcrypt::modes {
namespace {

TEST(UnknownFeature, NoBackendIsChosenAndTheErrorListsTheKnownOnes) {
  ASSERT_EQ(setenv("NBDCRYPT_DISABLE_CPU", "aesni,avx9,mmx9", 1), 0);
  for (const char* name : {"", "generic"}) {
    try {
      ADD_FAILURE() << "chose " << choose_backend(name).name;
    } catch (const base::Error& error) {
      EXPECT_EQ(error.kind(), base::Kind::usage);
      EXPECT_EQ(error.what(),
                "NBDCRYPT_DISABLE_CPU: unknown feature avx9, expected " + std::string(aes::cpu::known_names()));
    }
  }
}

}  // namespace
}  // namespace nbdcrypt::modes
