// SPDX-License-Identifier: Apache-2.0
#include "cli/passphrase.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "cli/add_options.h"
#include "cli/byte_size.h"
#include "cli/terminal.h"

namespace nbdcrypt::cli {
namespace {

using base::Error;
using base::Kind;
using base::SecretBuffer;
using volume::Credential;
using volume::SecretKind;

// A key file that cannot be opened is a wrong parameter in cryptsetup (1), where an image is a wrong device (4).
SecretBuffer read_file(const std::string& path, std::uint64_t offset, std::uint64_t limit, bool stop_at_newline) {
  try {
    return volume::read_key_file(path, offset, limit, stop_at_newline);
  } catch (const Error& e) {
    if (e.kind() != Kind::device) throw;
    throw Error(Kind::usage, fmt::format("key file {}", e.what()), e.os_error(), e.hint());
  }
}

SecretBuffer type_secret(const SecretSource& source) {
  if (source.offset_bytes != 0) throw Error(Kind::usage, "option --keyfile-offset: what is typed has no offset");
  Terminal terminal;
  SecretBuffer typed = terminal.read_line(source.prompt, false, kMaxTypedBytes, source.timeout_seconds);
  if (source.verify) {
    const SecretBuffer again = terminal.read_line("Verify passphrase: ", false, kMaxTypedBytes, source.timeout_seconds);
    if (!std::ranges::equal(typed.bytes(), again.bytes())) throw Error(Kind::passphrase, "passphrases do not match");
  }
  return typed;
}

bool opens(const std::function<void(const Credential&)>& unlock, const Credential& credential) {
  try {
    unlock(credential);
    return true;
  } catch (const Error& e) {
    if (e.kind() != Kind::passphrase) throw;
    return false;
  }
}

bool ends_in_newline(const SecretBuffer& secret) { return !secret.empty() && secret.data()[secret.size() - 1] == '\n'; }

// The most common mishap with key files: an editor or echo added a newline, or printf did not. Says so, and does not
// help itself: a volume that opens by luck today does not open elsewhere tomorrow.
void throw_newline_error(const std::string& path, Credential credential,
                         const std::function<void(const Credential&)>& unlock) {
  const bool had = ends_in_newline(credential.secret);
  const std::size_t bytes = credential.secret.size();
  if (had) {
    credential.secret.shrink(bytes - 1);
  } else {
    credential.secret.grow(bytes + 1);
    credential.secret.data()[bytes] = '\n';
  }
  if (credential.secret.empty() || !opens(unlock, credential)) return;
  if (had) {
    throw Error(Kind::passphrase, path + ": no key slot opens with it, but one does without the newline at its end", 0,
                fmt::format("--keyfile-size {} leaves the newline out", bytes - 1));
  }
  throw Error(Kind::passphrase, path + ": no key slot opens with it, but one does with a newline at its end", 0,
              "the key slot was made with that newline: add it to a copy of the key file");
}

}  // namespace

void add_secret_options(po::options_description& options) {
  add_value<std::string>(options, "key-file,d", "FILE",
                         "read the passphrase from FILE, all of it; - is standard input");
  add_value<ByteSize>(options, "keyfile-offset", "BYTES", "skip BYTES of the key file");
  add_value<ByteSize>(options, "keyfile-size,l", "BYTES", "read no more than BYTES of the key file");
  add_value<std::uint32_t>(options, "timeout,t", "SECONDS", "give up when nothing is typed for so long");
  add_flag(options, "verify-passphrase,y", "ask twice for what is typed");
}

bool SecretSource::typed() const { return (!key_file || *key_file == "-") && input_is_terminal(); }

SecretBuffer SecretSource::read() const {
  if (typed()) return type_secret(*this);
  return read_file(key_file.value_or("-"), offset_bytes, limit_bytes, !key_file);
}

SecretSource secret_source(const Arguments& arguments, const std::string& whose) {
  SecretSource source;
  if (arguments.has("key-file")) source.key_file = arguments.get<std::string>("key-file");
  source.offset_bytes = arguments.get_or("keyfile-offset", ByteSize{}).bytes;
  source.limit_bytes = arguments.get_or("keyfile-size", ByteSize{}).bytes;
  source.timeout_seconds = arguments.get_or<std::uint32_t>("timeout", 0);
  source.verify = arguments.flag("verify-passphrase");
  source.prompt = "Enter passphrase for " + whose + ": ";
  return source;
}

SecretBuffer read_volume_key(const Arguments& arguments, std::uint64_t limit_bytes) {
  return read_file(arguments.get<std::string>("volume-key-file"), 0, limit_bytes, false);
}

void try_secrets(const SecretSource& source, SecretKind kind, unsigned tries,
                 const std::function<void(const Credential&)>& unlock) {
  const bool typed = source.typed();
  for (unsigned left = typed ? std::max(tries, 1u) : 1;; --left) {
    Credential credential{kind, source.read()};
    try {
      return unlock(credential);
    } catch (const Error& e) {
      if (e.kind() != Kind::passphrase) throw;
      if (kind == SecretKind::key_file)
        throw_newline_error(source.key_file.value_or("-"), std::move(credential), unlock);
      if (left <= 1) throw;
      tell(fmt::format("nbdcrypt: {}\n", e.what()));
    }
  }
}

}  // namespace nbdcrypt::cli
