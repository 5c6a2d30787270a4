// SPDX-License-Identifier: Apache-2.0
#include "modes/iv.h"

#include <gtest/gtest.h>

#include "tests/modes/samples.h"

namespace nbdcrypt::modes {
namespace {

using test::Bytes;

/// The IVs of `count` sectors, over bytes that were not zero before.
Bytes ivs(IvKind kind, SectorNumbers numbers, std::size_t count, std::uint32_t sector_bytes = 512) {
  Bytes iv(count * 16, 0xee);
  fill_iv(kind, numbers, sector_bytes, count, iv.data());
  return iv;
}

Bytes iv_of(IvKind kind, std::uint64_t number, std::uint32_t sector_bytes = 512) {
  return ivs(kind, {.first = number, .step = 1, .shift = 0}, 1, sector_bytes);
}

/// 16 bytes: `front`, zeros, `back`.
Bytes block(const Bytes& front, const Bytes& back = {}) {
  Bytes bytes(16);
  std::ranges::copy(front, bytes.begin());
  std::ranges::copy_backward(back, bytes.end());
  return bytes;
}

TEST(FillIv, NullAndNoneAreZeros) {
  EXPECT_EQ(iv_of(IvKind::null, 0x0102030405060708), block({}));
  EXPECT_EQ(iv_of(IvKind::none, 0x0102030405060708), block({}));
}

TEST(FillIv, PlainWrapsAt32Bits) {
  EXPECT_EQ(iv_of(IvKind::plain, 0x0102030405060708), block({8, 7, 6, 5}));
  EXPECT_EQ(iv_of(IvKind::plain, 0x100000000), block({}));
}

TEST(FillIv, Plain64AndEssivAreLittleEndian) {
  EXPECT_EQ(iv_of(IvKind::plain64, 0x0102030405060708), block({8, 7, 6, 5, 4, 3, 2, 1}));
  EXPECT_EQ(iv_of(IvKind::essiv, 0x0102030405060708), block({8, 7, 6, 5, 4, 3, 2, 1}));
}

TEST(FillIv, Plain64beEndsTheBlock) {
  EXPECT_EQ(iv_of(IvKind::plain64be, 0x0102030405060708), block({}, {1, 2, 3, 4, 5, 6, 7, 8}));
}

TEST(FillIv, BenbiCountsBlocksFromOne) {
  EXPECT_EQ(iv_of(IvKind::benbi, 0), block({}, {1}));
  EXPECT_EQ(iv_of(IvKind::benbi, 3), block({}, {97}));
  EXPECT_EQ(iv_of(IvKind::benbi, 3, 4096), block({}, {97}));
  EXPECT_EQ(iv_of(IvKind::benbi, std::uint64_t{1} << 59), block({}, {1}));
}

TEST(FillIv, EboivIsTheNumberTimesTheSectorSize) {
  EXPECT_EQ(iv_of(IvKind::eboiv, 3), block({0, 6}));
  EXPECT_EQ(iv_of(IvKind::eboiv, 3, 4096), block({0, 0x30}));
  EXPECT_EQ(iv_of(IvKind::eboiv, std::uint64_t{1} << 55), block({}));
}

TEST(FillIv, NumbersStepAndThenShift) {
  const Bytes numbers = ivs(IvKind::plain64, {.first = 12, .step = 4, .shift = 1}, 3);
  Bytes expected;
  for (const test::Byte number : Bytes{6, 8, 10}) {
    const Bytes one = block({number});
    expected.insert(expected.end(), one.begin(), one.end());
  }
  EXPECT_EQ(numbers, expected);
}

TEST(FillIv, NumbersWrapBeforeTheyShift) {
  const Bytes numbers = ivs(IvKind::plain64, {.first = UINT64_MAX - 7, .step = 8, .shift = 3}, 2);
  Bytes expected = block({0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x1f});
  expected.resize(32);
  EXPECT_EQ(numbers, expected);
}

}  // namespace
}  // namespace nbdcrypt::modes
