// SPDX-License-Identifier: Apache-2.0
//
// The files of figures against OpenSSL and libgcrypt, so that a figure that was written down wrongly is found, and not
// taken for a fault of ours (or worse, for none).
#include <gtest/gtest.h>

#include "tests/modes/samples.h"
#include "tests/modes/witness.h"
#include "tests/vectors/vec_file.h"

namespace nbdcrypt::test {
namespace {

void check(const NamedWitness& witness, const std::string& mode, const Bytes& iv, const VecRecord& record,
           bool can_encrypt = true) {
  SCOPED_TRACE(record.where() + " " + witness.name);
  const Bytes key = record.bytes("Key"), plain = record.bytes("Plaintext"), cipher = record.bytes("Ciphertext");
  if (can_encrypt) { EXPECT_EQ(witness.run(mode, true, key, iv, plain), cipher); }
  EXPECT_EQ(witness.run(mode, false, key, iv, cipher), plain);
}

TEST(WitnessesConfirm, TheFiguresOfIeee1619) {
  for (const NamedWitness& witness : kWitnesses) {
    for_each_record("xts_ieee1619.vec", [&](const VecRecord& record) {
      // OpenSSL 3 encrypts with no XTS key of two equal halves, which vector 1 has; it decrypts.
      const bool equal_halves = record.number("Vector") == 1;
      check(witness, "XTS", record.bytes("Tweak"), record, !(equal_halves && witness.run == openssl));
    });
  }
}

TEST(WitnessesConfirm, TheFiguresOfSp800_38a) {
  for (const NamedWitness& witness : kWitnesses) {
    for_each_record("sp800-38a.vec", [&](const VecRecord& record) {
      const std::string mode = record.section().substr(0, 3);
      check(witness, mode, mode == "ECB" ? Bytes() : record.bytes("IV"), record);
    });
  }
}

}  // namespace
}  // namespace nbdcrypt::test
