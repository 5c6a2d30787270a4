// SPDX-License-Identifier: Apache-2.0
//
// What the tests of the authenticated modes share.
#pragma once

#include "modes/aead.h"
#include "tests/modes/samples.h"
#include "tests/vectors/vec_file.h"

namespace nbdcrypt::test {

inline constexpr modes::AeadMode kAeadModes[] = {modes::AeadMode::ccm, modes::AeadMode::eax, modes::AeadMode::gcm,
                                                 modes::AeadMode::ocb};

/// One message and what becomes of it.
struct Sealed {
  Bytes key, nonce, ad, plain, cipher, tag;
};

inline Sealed sealed_of(const VecRecord& record) {
  Sealed all{.key = record.bytes("Key"),
             .nonce = record.bytes("Nonce"),
             .ad = {},
             .plain = record.bytes("Plaintext"),
             .cipher = record.bytes("Ciphertext"),
             .tag = record.bytes("Tag")};
  const Bytes ad = record.bytes("AD");
  for (std::uint64_t i = record.has("ADRepeat") ? record.number("ADRepeat") : 1; i > 0; --i) {
    all.ad.insert(all.ad.end(), ad.begin(), ad.end());
  }
  return all;
}

inline modes::AeadMode mode_of(const std::string& section) {
  for (const modes::AeadMode mode : kAeadModes) {
    if (section == name_of(mode)) return mode;
  }
  throw std::runtime_error("no mode " + section);
}

/// The files of published figures that hold messages, and how many there are in each.
struct AeadFile {
  const char* name;
  std::size_t records;
};
inline constexpr AeadFile kAeadFiles[] = {
    {"ccm_rfc3610.vec", 24}, {"ccm_sp800-38c.vec", 4}, {"eax.vec", 10}, {"gcm.vec", 18}, {"ocb_rfc7253.vec", 17}};

/// Calls visit(mode, message, where) for each message of a file; the outputs of RFC 7253's iteration are not messages.
template <class F>
void for_each_message(const AeadFile& file, F&& visit) {
  std::size_t messages = 0;
  for_each_record(file.name, [&](const VecRecord& record) {
    if (record.section() == "OCB iterated") {
      record.number("KeyBits"), record.number("TagBits"), record.bytes("Tag");
      return;
    }
    ++messages;
    visit(mode_of(record.section()), sealed_of(record), record.where());
  });
  EXPECT_EQ(messages, file.records) << file.name;
}

}  // namespace nbdcrypt::test
