// SPDX-License-Identifier: Apache-2.0
//
// The emulation itself: right answers to right programs, and the faults and wrong data that the silicon has for wrong
// ones.
#include "tests/emulation/padlock/silicon.h"

#include <gtest/gtest.h>

#include <signal.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <vector>

#include "aes/key_schedule.h"
#include "tests/emulation/padlock/instruction.h"
#include "tests/support/guarded_buffer.h"
#include "tests/vectors/vec_file.h"

namespace nbdcrypt::test::padlock {
namespace {

using Bytes = std::vector<Byte>;

constexpr std::uint32_t kAnyAlignment = 1 << 5, kExpanded = 1 << 7, kDecrypt = 1 << 9;

/// Of a key of 16 bytes that the unit expands.
constexpr std::uint32_t kControl128 = 10;

class PadlockSilicon : public testing::Test {
 protected:
  void SetUp() override {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    install();
    reset_counts();
    context_.control[0] = kControl128;
  }
  void TearDown() override { remove(); }

  Context context_;
  alignas(16) Byte in_[512] = {}, out_[512] = {};
};

/// A context for a key of any size, the longer ones expanded.
Context context_of(const Bytes& key, bool decrypts, bool forward) {
  Context context;
  aes::Key expanded;
  aes::expand_key(expanded, key.data(), key.size());
  const bool is_long = key.size() > 16;
  context.control[0] = expanded.rounds | (is_long ? kExpanded : 0) | (decrypts ? kDecrypt : 0) |
                       static_cast<std::uint32_t>(key.size() / 8 - 2) << 10;
  if (!is_long) std::memcpy(context.key, key.data(), key.size());
  if (is_long) std::memcpy(context.key, decrypts && !forward ? expanded.dec : expanded.enc, 16 * (expanded.rounds + 1));
  return context;
}

TEST_F(PadlockSilicon, GivesThePublishedAnswers) {
  struct Mode {
    const char* section;
    Xcrypt xcrypt;
    bool forward, has_direction;
  };
  constexpr Mode kModes[] = {{"ECB", Xcrypt::ecb, false, true},
                             {"CBC", Xcrypt::cbc, false, true},
                             {"CFB128", Xcrypt::cfb, true, true},
                             {"OFB", Xcrypt::ofb, true, false},
                             {"CTR", Xcrypt::ctr, true, false}};
  EXPECT_EQ(
      15u, for_each_record("sp800-38a.vec", [&](const VecRecord& record) {
        const auto mode = std::find_if(std::begin(kModes), std::end(kModes),
                                       [&](const Mode& m) { return record.section() == m.section; });
        ASSERT_NE(std::end(kModes), mode) << record.where();
        const Bytes key = record.bytes("Key"), plain = record.bytes("Plaintext"), cipher = record.bytes("Ciphertext");
        const Bytes iv = mode->xcrypt == Xcrypt::ecb ? Bytes(16) : record.bytes("IV");
        for (const bool decrypts : {false, true}) {
          Context context = context_of(key, decrypts && mode->has_direction, mode->forward);
          std::memcpy(context.iv, iv.data(), 16);
          std::memcpy(in_, decrypts ? cipher.data() : plain.data(), plain.size());
          reload();
          const After after = xcrypt(mode->xcrypt, context, in_, out_, plain.size() / 16);
          EXPECT_EQ(0, std::memcmp(out_, decrypts ? plain.data() : cipher.data(), plain.size())) << record.where();
          EXPECT_EQ(after.in, in_ + plain.size());
          EXPECT_EQ(after.out, out_ + plain.size());
          EXPECT_EQ(after.blocks, 0u);
        }
      }));
}

TEST_F(PadlockSilicon, LeavesTheIvWhereTheGuideSays) {
  context_.iv[3] = 9;
  After after = xcrypt(Xcrypt::cbc, context_, in_, out_, 4);
  EXPECT_EQ(after.iv, out_ + 48);
  EXPECT_EQ(context_.iv[3], 9) << "the memory stays";
  context_.control[0] |= kDecrypt;
  reload();
  after = xcrypt(Xcrypt::cbc, context_, out_, in_, 4);
  EXPECT_EQ(after.iv, context_.iv);
  EXPECT_EQ(0, std::memcmp(context_.iv, out_ + 48, 16)) << "the memory is renewed";
}

TEST_F(PadlockSilicon, CountsSixteenBits) {
  std::memset(context_.iv, 0xff, 16);
  xcrypt(Xcrypt::ctr, context_, in_, out_, 2);
  Byte expected[16];
  std::memset(expected, 0xff, 16);
  expected[14] = 0, expected[15] = 1;
  EXPECT_EQ(0, std::memcmp(context_.iv, expected, 16));
}

TEST_F(PadlockSilicon, KeepsItsKeyUntilTheFlagsAreLoaded) {
  Context other = context_;
  other.key[0] = 1;
  xcrypt(Xcrypt::ecb, context_, in_, out_, 8);
  xcrypt(Xcrypt::ecb, other, in_, out_ + 128, 8);
  EXPECT_EQ(0, std::memcmp(out_, out_ + 128, 128)) << "a stale key";
  EXPECT_EQ(counts().stale_keys, 1u);
  EXPECT_EQ(counts().reloads, 0u);
  reload();
  xcrypt(Xcrypt::ecb, other, in_, out_ + 128, 8);
  EXPECT_NE(0, std::memcmp(out_, out_ + 128, 128));
  reload();
  xcrypt(Xcrypt::ecb, context_, in_, out_ + 128, 8);
  EXPECT_EQ(0, std::memcmp(out_, out_ + 128, 128));
  EXPECT_EQ(counts().stale_keys, 1u);
  EXPECT_EQ(counts().reloads, 2u);
}

TEST_F(PadlockSilicon, KeepsItsControlWordToo) {
  xcrypt(Xcrypt::ecb, context_, in_, out_, 8);
  context_.control[0] |= kDecrypt;
  xcrypt(Xcrypt::ecb, context_, out_, in_, 8);
  EXPECT_NE(0, in_[0]) << "encrypted again";
  EXPECT_EQ(counts().stale_keys, 1u);
}

TEST_F(PadlockSilicon, FaultsOnWhatIsNotAligned) {
  const auto run = [&](auto change) { return [=, this]() mutable { change(*this); }; };
  EXPECT_EXIT(run([](auto& t) { xcrypt(Xcrypt::ecb, t.context_, t.in_ + 1, t.out_, 8); })(),
              testing::KilledBySignal(SIGSEGV), "");
  EXPECT_EXIT(run([](auto& t) { xcrypt(Xcrypt::ecb, t.context_, t.in_, t.out_ + 8, 8); })(),
              testing::KilledBySignal(SIGSEGV), "");
  alignas(16) Byte space[sizeof(Context) + 16];
  EXPECT_EXIT(
      {
        Context& moved = *reinterpret_cast<Context*>(space + 4);
        std::memcpy(static_cast<void*>(&moved), &context_, sizeof moved);
        xcrypt(Xcrypt::ecb, moved, in_, out_, 8);
      },
      testing::KilledBySignal(SIGSEGV), "");
  context_.control[0] |= kAnyAlignment;
  xcrypt(Xcrypt::ecb, context_, in_ + 1, out_ + 3, 8);
  EXPECT_EQ(counts().blocks, 8u);
}

TEST_F(PadlockSilicon, FaultsWhenItFetchesBeyondTheLastPage) {
  GuardedBuffer page(4096);
  Byte* const end = page.data() + 4096;
  EXPECT_EXIT(xcrypt(Xcrypt::ecb, context_, end - 16, out_, 1), testing::KilledBySignal(SIGSEGV), "");
  EXPECT_EXIT(xcrypt(Xcrypt::ecb, context_, end - 144, out_, 9), testing::KilledBySignal(SIGSEGV), "");
  EXPECT_EXIT(xcrypt(Xcrypt::cbc, context_, end - 48, out_, 3), testing::KilledBySignal(SIGSEGV), "");
  xcrypt(Xcrypt::ecb, context_, end - 128, out_, 8);
  xcrypt(Xcrypt::ecb, context_, end - 256, out_, 1);
  xcrypt(Xcrypt::cbc, context_, end - 64, out_, 4);
  EXPECT_EQ(counts().blocks, 13u);
}

TEST_F(PadlockSilicon, FaultsOnWrongControlWords) {
  for (const std::uint32_t wrong :
       {11u, 12u, 10u | 1 << 10, 14u | 2 << 10, 10u | 3 << 10, 10u | 1 << 4, 10u | 1 << 12}) {
    context_.control[0] = wrong;
    EXPECT_EXIT(xcrypt(Xcrypt::ecb, context_, in_, out_, 8), testing::KilledBySignal(SIGSEGV), "") << wrong;
  }
  context_.control[0] = kControl128 | kDecrypt;
  EXPECT_EXIT(xcrypt(Xcrypt::ctr, context_, in_, out_, 8), testing::KilledBySignal(SIGSEGV), "");
}

TEST_F(PadlockSilicon, TheFirstVersionCannotCount) {
  install({.ecb_fetch_blocks = 2, .cbc_fetch_blocks = 1, .other_fetch_blocks = 1, .has_ace2 = false});
  EXPECT_EXIT(xcrypt(Xcrypt::ctr, context_, in_, out_, 1), testing::KilledBySignal(SIGILL), "");
  xcrypt(Xcrypt::ofb, context_, in_, out_, 1);
}

TEST_F(PadlockSilicon, WithoutItTheInstructionIsIllegal) {
  remove();
  EXPECT_EXIT(xcrypt(Xcrypt::ecb, context_, in_, out_, 8), testing::KilledBySignal(SIGILL), "");
}

}  // namespace
}  // namespace nbdcrypt::test::padlock
