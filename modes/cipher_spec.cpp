// SPDX-License-Identifier: Apache-2.0
//
// The grammar of cryptsetup 2.6 (its crypt_parse_name_and_mode, tried with luksFormat): CIPHER, CIPHER-plain,
// CIPHER-ecb, CIPHER-MODE-IV[:HASH]. Names are in lower case, as the kernel wants them.
#include "modes/cipher_spec.h"

#include <array>
#include <optional>

#include "base/error.h"

namespace nbdcrypt::modes {
namespace {

using base::Error;
using base::Kind;

template <class T>
struct Named {
  std::string_view name;
  T value;
};

constexpr std::array<Named<Mode>, 3> kModes{{{"ecb", Mode::ecb}, {"cbc", Mode::cbc}, {"xts", Mode::xts}}};
constexpr std::array<Named<IvKind>, 7> kIvs{{{"null", IvKind::null},
                                             {"plain", IvKind::plain},
                                             {"plain64", IvKind::plain64},
                                             {"plain64be", IvKind::plain64be},
                                             {"benbi", IvKind::benbi},
                                             {"essiv", IvKind::essiv},
                                             {"eboiv", IvKind::eboiv}}};

template <class Table>
auto value_of(const Table& table, std::string_view name) -> std::optional<decltype(table[0].value)> {
  for (const auto& entry : table) {
    if (entry.name == name) return entry.value;
  }
  return std::nullopt;
}

template <class Table, class T>
std::string_view name_of(const Table& table, T value) {
  for (const auto& entry : table) {
    if (entry.value == value) return entry.name;
  }
  return {};
}

template <class Table>
std::string names_in(const Table& table) {
  std::string names;
  for (const auto& entry : table) names.append(names.empty() ? "" : ", ").append(entry.name);
  return names;
}

[[noreturn]] void refuse(Kind kind, std::string_view spec, const std::string& why) {
  throw Error(kind, "cipher " + std::string(spec) + ": " + why);
}

[[noreturn]] void refuse_part(std::string_view spec, const char* what, std::string_view part,
                              const std::string& known) {
  refuse(Kind::unsupported, spec, std::string(what) + " " + std::string(part) + " is not supported, expected " + known);
}

[[noreturn]] void refuse_form(std::string_view spec) {
  refuse(Kind::usage, spec, "not of the form cipher-mode-iv, as in aes-xts-plain64");
}

/// Cuts the text before the first `separator` off `rest`; `rest` becomes empty when there is none.
std::string_view take_until(std::string_view& rest, char separator) {
  const std::size_t end = rest.find(separator);
  const std::string_view part = rest.substr(0, end);
  rest = end == rest.npos ? std::string_view{} : rest.substr(end + 1);
  return part;
}

void check_cipher(std::string_view spec, std::string_view cipher) {
  if (cipher.empty()) refuse_form(spec);
  if (cipher.starts_with("aes:")) {
    refuse(Kind::unsupported, spec, "several keys (" + std::string(cipher) + ") are not supported, expected aes");
  }
  if (cipher != "aes") refuse_part(spec, "cipher", cipher, "aes");
}

/// `rest`: what follows the first hyphen; `has_rest` tells "aes" from "aes-".
std::string_view whole_mode(std::string_view spec, std::string_view rest, bool has_rest) {
  if (!has_rest || rest == "plain") return "cbc-plain";
  if (rest.empty() || rest.back() == '-') refuse_form(spec);
  return rest;
}

IvKind parse_iv(std::string_view spec, std::string_view name, bool has_options, std::string_view options) {
  const auto iv = value_of(kIvs, name);
  if (!iv) refuse_part(spec, "iv", name, names_in(kIvs));
  if (*iv == IvKind::essiv) {
    if (options.empty()) refuse(Kind::usage, spec, "essiv needs a hash, as in essiv:sha256");
  } else if (has_options) {
    refuse(Kind::usage, spec, "iv " + std::string(name) + " takes no options, found :" + std::string(options));
  }
  return *iv;
}

void check_combination(std::string_view spec, Mode mode, bool has_iv, IvKind iv) {
  if (mode == Mode::ecb) {
    if (has_iv) refuse(Kind::usage, spec, "mode ecb takes no iv");
    return;
  }
  const std::string name(name_of(kModes, mode));
  if (!has_iv) refuse(Kind::usage, spec, "mode " + name + " needs an iv, as in aes-" + name + "-plain64");
  if (mode == Mode::xts && iv == IvKind::eboiv)
    refuse(Kind::unsupported, spec, "iv eboiv is not supported with mode xts");
}

}  // namespace

std::string CipherSpec::text() const {
  std::string text = "aes-" + std::string(name_of(kModes, mode));
  if (iv != IvKind::none) text.append("-").append(name_of(kIvs, iv));
  if (iv == IvKind::essiv) text.append(":").append(essiv_hash);
  return text;
}

CipherSpec parse_cipher_spec(std::string_view text) {
  if (text.starts_with("capi:")) {
    refuse(Kind::unsupported, text, "the kernel's own spelling (capi:) is not supported, expected cipher-mode-iv");
  }
  std::string_view rest = text;
  const std::string_view cipher = take_until(rest, '-');
  check_cipher(text, cipher);

  rest = whole_mode(text, rest, cipher.size() < text.size());
  const std::string_view mode_name = take_until(rest, '-');
  const auto mode = value_of(kModes, mode_name);
  if (!mode) refuse_part(text, "mode", mode_name, names_in(kModes));

  const bool has_iv = !rest.empty();
  const bool has_options = rest.find(':') != rest.npos;
  const std::string_view iv_name = take_until(rest, ':');
  if (iv_name.find('-') != iv_name.npos) refuse_form(text);  // hyphens belong into a hash's name alone: essiv:sha3-256
  const IvKind iv = has_iv ? parse_iv(text, iv_name, has_options, rest) : IvKind::none;
  check_combination(text, *mode, has_iv, iv);
  return {.mode = *mode, .iv = iv, .essiv_hash = iv == IvKind::essiv ? std::string(rest) : std::string()};
}

void check_key_size(const CipherSpec& spec, std::size_t key_bytes) {
  const std::size_t keys = spec.mode == Mode::xts ? 2 : 1;
  for (const std::size_t one : {16u, 24u, 32u}) {
    if (key_bytes == keys * one) return;
  }
  refuse(Kind::usage, spec.text(),
         "a key of " + std::to_string(key_bytes * 8) + " bits, expected " +
             (keys == 2 ? "256, 384 or 512" : "128, 192 or 256"));
}

}  // namespace nbdcrypt::modes
