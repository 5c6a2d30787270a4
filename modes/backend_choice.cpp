// SPDX-License-Identifier: Apache-2.0
#include "modes/backend_choice.h"

#include "aes/cpu.h"
#include "aes/registry.h"
#include "base/error.h"

namespace nbdcrypt::modes {
namespace {

std::string names_of_all() {
  std::string names;
  for (const aes::Backend* backend : aes::all()) names.append(names.empty() ? "" : ", ").append(backend->name);
  return names;
}

/// A name that was misspelt would mask nothing, and the user would measure or trust the wrong backend.
void check_disabled_features() {
  const std::string_view unknown = aes::cpu::disabled().unknown;
  if (unknown.empty()) return;
  throw base::Error(base::Kind::usage, "NBDCRYPT_DISABLE_CPU: unknown feature " + std::string(unknown) + ", expected " +
                                           std::string(aes::cpu::known_names()));
}

[[noreturn]] void refuse(std::string_view name) {
  const std::string what = "backend " + std::string(name) + ": ";
  for (const aes::Backend* backend : aes::built()) {
    if (name == backend->name) {
      throw base::Error(base::Kind::usage, what + "this processor cannot run it, expected " + names_of_all());
    }
  }
  throw base::Error(base::Kind::usage, what + "unknown, expected " + names_of_all());
}

}  // namespace

const aes::Backend& choose_backend(std::string_view name) {
  check_disabled_features();
  if (name.empty()) return aes::best();
  const aes::Backend* backend = aes::by_name(name);
  if (backend == nullptr) refuse(name);
  return *backend;
}

std::string warning_about(const aes::Backend& backend) {
  if (!backend.by_name_only) return "";
  return "backend " + std::string(backend.name) +
         ": looks up tables by key and data, which other programs on this machine can learn through the cache; "
         "for a machine without other users";
}

}  // namespace nbdcrypt::modes
