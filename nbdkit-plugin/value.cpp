// SPDX-License-Identifier: Apache-2.0
#include "nbdkit-plugin/value.h"

#include <cstdlib>
#include <cstring>
#include <string>

#include "base/error.h"
#include "nbdkit-plugin/guard.h"
#include "nbdkit-plugin/nbdkit.h"

namespace nbdcrypt::plugin {
namespace {

[[noreturn]] void refuse(const Value& value, const std::string& why) {
  throw base::Error(base::Kind::usage, std::string(value.key) + ": " + why);
}

// What nbdkit_read_password() allocated: ordinary memory, wiped as soon as it was copied.
struct ReadPassword {
  char* text = nullptr;
  ~ReadPassword() {
    if (text) base::wipe(bytes());
    std::free(text);
  }
  std::span<base::Byte> bytes() const { return {reinterpret_cast<base::Byte*>(text), std::strlen(text)}; }
};

}  // namespace

bool Value::boolean() const {
  const int value = nbdkit_parse_bool(text);
  if (value < 0) refuse(*this, "expected true or false");
  return value != 0;
}

std::uint32_t Value::number() const {
  std::uint32_t value;
  if (nbdkit_parse_uint32_t(key, text, &value) != 0) throw AlreadyReported();
  return value;
}

int Value::number_up_to(int largest) const {
  const std::uint32_t value = number();
  if (value > static_cast<std::uint32_t>(largest)) {
    refuse(*this, std::to_string(value) + " is more than " + std::to_string(largest));
  }
  return static_cast<int>(value);
}

std::uint64_t Value::bytes() const {
  const std::int64_t value = nbdkit_parse_size(text);
  if (value < 0) refuse(*this, "expected a number of bytes, as in 4096 or 4K");
  return static_cast<std::uint64_t>(value);
}

std::uint64_t Value::sectors() const {
  std::uint64_t value;
  if (nbdkit_parse_uint64_t(key, text, &value) != 0) throw AlreadyReported();
  if (value > INT64_MAX / 512) refuse(*this, std::to_string(value) + " sectors are more than a file can have");
  return value;
}

base::SecretBuffer Value::password() const {
  if (text[0] != '-' && text[0] != '+') {
    warn(std::string(key) + "=... is visible in the process list; " + key + "=+FILE and key-file=FILE are not");
  }
  ReadPassword password;
  if (nbdkit_read_password(text, &password.text) != 0) throw AlreadyReported();
  return base::SecretBuffer(password.bytes());
}

}  // namespace nbdcrypt::plugin
