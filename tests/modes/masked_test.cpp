// SPDX-License-Identifier: Apache-2.0
//
// The choice of a backend where NBDCRYPT_DISABLE_CPU masks features. It is read once in a process: hence a program of
// its own.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <string>

#include "aes/cpu.h"
#include "aes/registry.h"
#include "base/error.h"
#include "modes/backend_choice.h"

namespace nbdcrypt::modes {
namespace {

class MaskedProcessor : public testing::Test {
 protected:
  static void SetUpTestSuite() { ASSERT_EQ(setenv("NBDCRYPT_DISABLE_CPU", "aesni", 1), 0); }
};

TEST_F(MaskedProcessor, TheBestBackendNeedsNothingThatIsMasked) {
  EXPECT_EQ(choose_backend("").needs & aes::cpu::aesni, 0u);
  for (const aes::Backend* backend : aes::all()) EXPECT_EQ(backend->needs & aes::cpu::aesni, 0u) << backend->name;
}

TEST_F(MaskedProcessor, AMaskedBackendIsRefusedByName) {
  std::string running;
  for (const aes::Backend* backend : aes::all()) running += (running.empty() ? "" : ", ") + std::string(backend->name);
  for (const aes::Backend* backend : aes::built()) {
    if ((backend->needs & aes::cpu::aesni) == 0) continue;
    try {
      ADD_FAILURE() << "chose " << choose_backend(backend->name).name;
    } catch (const base::Error& error) {
      EXPECT_EQ(error.kind(), base::Kind::usage);
      EXPECT_EQ(error.what(),
                "backend " + std::string(backend->name) + ": this processor cannot run it, expected " + running);
    }
  }
}

}  // namespace
}  // namespace nbdcrypt::modes
