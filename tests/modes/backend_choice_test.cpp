// SPDX-License-Identifier: Apache-2.0
#include "modes/backend_choice.h"

#include <gtest/gtest.h>

#include "aes/registry.h"
#include "base/error.h"
#include "tests/modes/samples.h"

namespace nbdcrypt::modes {
namespace {

std::string error_of(std::string_view name) {
  try {
    return std::string("chose ") + choose_backend(name).name;
  } catch (const base::Error& error) {
    EXPECT_EQ(error.kind(), base::Kind::usage);
    return error.what();
  }
}

std::string names_that_run() {
  std::string names;
  for (const aes::Backend* backend : aes::all()) names += (names.empty() ? "" : ", ") + std::string(backend->name);
  return names;
}

TEST(ChooseBackend, WarnsAboutThoseThatAreOnlyChosenByName) {
  for (const aes::Backend* backend : aes::all()) {
    EXPECT_EQ(warning_about(*backend).empty(), !backend->by_name_only) << backend->name;
  }
  EXPECT_EQ(warning_about(choose_backend("table")).substr(0, 20), "backend table: looks");
}

TEST(ChooseBackend, WithoutANameItIsTheBest) { EXPECT_EQ(&choose_backend(""), &aes::best()); }

TEST(ChooseBackend, ByNameItIsThatOne) {
  for (const aes::Backend* backend : aes::all()) EXPECT_EQ(&choose_backend(backend->name), backend);
}

TEST(ChooseBackend, AnUnknownNameIsAnErrorThatListsTheKnownOnes) {
  EXPECT_EQ(error_of("Generic"), "backend Generic: unknown, expected " + names_that_run());
}

}  // namespace
}  // namespace nbdcrypt::modes
