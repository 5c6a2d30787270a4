// SPDX-License-Identifier: Apache-2.0
//
// The kernels of authenticated modes of every backend against the modes' definitions, block by block: all numbers of
// blocks around their groups, in place, misaligned, and with inaccessible pages on both sides.
#include <bit>
#include <cstring>

#include "aes/registry.h"
#include "tests/aes/support.h"

namespace nbdcrypt::test {
namespace {

constexpr std::size_t kMaxBlocks = 100;

void add(Byte* to, const Byte* block) {
  for (std::size_t i = 0; i < kBlockBytes; i++) to[i] ^= block[i];
}

void count_up(Byte* block, std::size_t bytes) {
  for (std::size_t i = kBlockBytes; i-- > kBlockBytes - bytes && ++block[i] == 0;) {}
}

/// SP 800-38D, algorithm 1.
void multiply(Byte* x, const Byte* h) {
  Bytes product(kBlockBytes), v(h, h + kBlockBytes);
  for (std::size_t i = 0; i < 128; i++) {
    if (x[i / 8] >> (7 - i % 8) & 1) add(product.data(), v.data());
    const bool carry = v[15] & 1;
    for (std::size_t j = kBlockBytes; j-- > 0;) v[j] = static_cast<Byte>(v[j] >> 1 | (j > 0 ? v[j - 1] << 7 : 0));
    if (carry) v[0] ^= 0xe1;
  }
  std::memcpy(x, product.data(), kBlockBytes);
}

const aes::Backend& generic() { return *aes::by_name("generic"); }

void encrypt(const aes::Key& key, const Byte* in, Byte* out) { generic().encrypt(key, in, out, 1); }

/// A message under way, and what a mode keeps between its blocks.
struct State {
  Bytes data, a, b;  // GCM: counter, GHASH; OCB: offset, checksum; else: counter, MAC
};

State begin(std::size_t blocks, std::uint64_t seed) {
  return {random_bytes(blocks * kBlockBytes, seed), random_bytes(kBlockBytes, seed + 1),
          random_bytes(kBlockBytes, seed + 2)};
}

enum class Kind { gcm_encrypt, gcm_decrypt, ocb_encrypt, ocb_decrypt, mac, ctr_mac_in, ctr_mac_out };
constexpr Kind kKinds[] = {Kind::gcm_encrypt, Kind::gcm_decrypt, Kind::ocb_encrypt, Kind::ocb_decrypt,
                           Kind::mac,         Kind::ctr_mac_in,  Kind::ctr_mac_out};

/// Everything about a run that does not change: keys, and the number of its first block.
struct Setting {
  aes::Key key;
  Bytes h = random_bytes(kBlockBytes, 5), l = random_bytes(64 * kBlockBytes, 6);
  std::uint64_t first = 1;
};

void ctr(const aes::Key& key, Byte* x, Byte* counter, std::size_t counting) {
  Byte stream[kBlockBytes];
  encrypt(key, counter, stream);
  count_up(counter, counting);
  add(x, stream);
}

/// One block by the definition of its mode.
void model_block(Kind kind, const Setting& with, State& s, std::size_t i) {
  Byte* const x = &s.data[i * kBlockBytes];
  const auto absorb = [&] { add(s.b.data(), x); };
  const auto mac = [&] {
    absorb();
    encrypt(with.key, s.b.data(), s.b.data());
  };
  switch (kind) {
    case Kind::gcm_encrypt:
      ctr(with.key, x, s.a.data(), 4);
      absorb();
      return multiply(s.b.data(), with.h.data());
    case Kind::gcm_decrypt:
      absorb();
      multiply(s.b.data(), with.h.data());
      return ctr(with.key, x, s.a.data(), 4);
    case Kind::ocb_encrypt:
    case Kind::ocb_decrypt:
      add(s.a.data(), &with.l[static_cast<std::size_t>(std::countr_zero(with.first + i)) * kBlockBytes]);
      if (kind == Kind::ocb_encrypt) absorb();
      add(x, s.a.data());
      (kind == Kind::ocb_encrypt ? generic().encrypt : generic().decrypt)(with.key, x, x, 1);
      add(x, s.a.data());
      if (kind == Kind::ocb_decrypt) absorb();
      return;
    case Kind::mac:
      return mac();
    case Kind::ctr_mac_in:
      mac();
      return ctr(with.key, x, s.a.data(), 16);
    case Kind::ctr_mac_out:
      ctr(with.key, x, s.a.data(), 16);
      return mac();
  }
}

bool has(Kind kind, const aes::Fused& fused) {
  switch (kind) {
    case Kind::gcm_encrypt:
      return fused.gcm_encrypt;
    case Kind::gcm_decrypt:
      return fused.gcm_decrypt;
    case Kind::ocb_encrypt:
      return fused.ocb_encrypt;
    case Kind::ocb_decrypt:
      return fused.ocb_decrypt;
    case Kind::mac:
      return fused.mac;
    case Kind::ctr_mac_in:
      return fused.ctr_mac_in;
    case Kind::ctr_mac_out:
      break;
  }
  return fused.ctr_mac_out;
}

void run_kernel(Kind kind, const aes::Fused& fused, const Setting& with, const Byte* in, Byte* out, State& s,
                std::size_t blocks) {
  aes::HashKey hash{};
  if (fused.gcm_prepare) fused.gcm_prepare(hash, with.h.data());
  const aes::GcmRun gcm{.in = in, .out = out, .counter = s.a.data(), .state = s.b.data(), .blocks = blocks};
  const aes::MacRun mac{.in = in, .out = out, .counter = s.a.data(), .state = s.b.data(), .blocks = blocks};
  const aes::OcbRun ocb{.in = in,
                        .out = out,
                        .offset = s.a.data(),
                        .checksum = s.b.data(),
                        .l = with.l.data(),
                        .first = with.first,
                        .blocks = blocks};
  switch (kind) {
    case Kind::gcm_encrypt:
      return fused.gcm_encrypt(with.key, hash, gcm);
    case Kind::gcm_decrypt:
      return fused.gcm_decrypt(with.key, hash, gcm);
    case Kind::ocb_encrypt:
      return fused.ocb_encrypt(with.key, ocb);
    case Kind::ocb_decrypt:
      return fused.ocb_decrypt(with.key, ocb);
    case Kind::mac:
      if (in != out) std::memcpy(out, in, blocks * kBlockBytes);
      return fused.mac(with.key, s.b.data(), in, blocks);
    case Kind::ctr_mac_in:
      return fused.ctr_mac_in(with.key, mac);
    case Kind::ctr_mac_out:
      return fused.ctr_mac_out(with.key, mac);
  }
}

class Fused : public testing::TestWithParam<const aes::Backend*> {
 protected:
  const aes::Fused& fused() const { return GetParam()->fused; }

  /// Calls check(kind, setting) for every kernel and key size.
  template <class F>
  void for_each_kernel(const F& check) const {
    for (const Kind kind : kKinds) {
      if (!has(kind, fused())) continue;
      for (const std::size_t key_bytes : kKeyBytes) {
        SCOPED_TRACE("kernel " + std::to_string(static_cast<int>(kind)) + " key " + std::to_string(key_bytes));
        check(kind, Setting{.key = test_key(*GetParam(), key_bytes)});
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
};
INSTANTIATE_TEST_SUITE_P(Backends, Fused, testing::ValuesIn(tested_backends()), test_name);

void expect_equal(const State& right, const State& got, const Byte* out, std::size_t blocks) {
  ASSERT_EQ(std::memcmp(out, right.data.data(), blocks * kBlockBytes), 0) << blocks << " blocks";
  ASSERT_EQ(got.a, right.a) << blocks << " blocks";
  ASSERT_EQ(got.b, right.b) << blocks << " blocks";
}

TEST_P(Fused, EqualsTheModelForEveryNumberOfBlocks) {
  for_each_kernel([&](Kind kind, const Setting& with) {
    const State start = begin(kMaxBlocks, 1);
    State right = start;
    for (std::size_t blocks = 0; blocks <= kMaxBlocks; blocks++) {
      if (blocks > 0) model_block(kind, with, right, blocks - 1);
      State got = start;
      Bytes out(blocks * kBlockBytes + 17, 0xa5);
      const std::size_t at = blocks % 17;
      run_kernel(kind, fused(), with, start.data.data(), out.data() + at, got, blocks);
      expect_equal(right, got, out.data() + at, blocks);
      for (std::size_t i = 0; i < out.size(); i++) {
        if (i < at || i >= at + blocks * kBlockBytes) { ASSERT_EQ(out[i], 0xa5) << blocks << " blocks"; }
      }
      got = start;
      run_kernel(kind, fused(), with, got.data.data(), got.data.data(), got, blocks);
      expect_equal(right, got, got.data.data(), blocks);
    }
  });
}

TEST_P(Fused, TouchesNothingOutsideItsBuffers) {
  for_each_kernel([&](Kind kind, const Setting& with) {
    for (const std::size_t blocks : {1, 2, 3, 7, 8, 9, 16, 17, 31, 32, 33, 63, 64, 70}) {
      const State start = begin(blocks, 3);
      State right = start;
      for (std::size_t i = 0; i < blocks; i++) model_block(kind, with, right, i);
      const Guarded in(blocks * kBlockBytes), out(blocks * kBlockBytes);
      for (const auto place : {&Guarded::at_start, &Guarded::at_end}) {
        std::memcpy((in.*place)(), start.data.data(), blocks * kBlockBytes);
        State got = start;
        run_kernel(kind, fused(), with, (in.*place)(), (out.*place)(), got, blocks);
        expect_equal(right, got, (out.*place)(), blocks);
      }
    }
  });
}

TEST_P(Fused, GoesOnWhereItStopped) {
  for_each_kernel([&](Kind kind, const Setting& with) {
    const State start = begin(kMaxBlocks, 4);
    State right = start;
    for (std::size_t i = 0; i < kMaxBlocks; i++) model_block(kind, with, right, i);
    for (std::size_t first = 1; first < kMaxBlocks; first++) {
      State got = start;
      Setting rest = with;
      rest.first += first;
      Byte* const behind = got.data.data() + first * kBlockBytes;
      run_kernel(kind, fused(), with, got.data.data(), got.data.data(), got, first);
      run_kernel(kind, fused(), rest, behind, behind, got, kMaxBlocks - first);
      expect_equal(right, got, got.data.data(), kMaxBlocks);
    }
  });
}

TEST_P(Fused, CountersWrapWhereTheModelSays) {
  for_each_kernel([&](Kind kind, const Setting& with) {
    if (kind == Kind::ocb_encrypt || kind == Kind::ocb_decrypt || kind == Kind::mac) return;
    for (unsigned before = 0; before < 70; before++) {
      State start = begin(kMaxBlocks, before);
      start.a.assign(kBlockBytes, 0xff);
      start.a[15] = static_cast<Byte>(0xff - before);
      start.a[7] = before % 2 ? 0xff : 0x12;
      State right = start, got = start;
      for (std::size_t i = 0; i < kMaxBlocks; i++) model_block(kind, with, right, i);
      run_kernel(kind, fused(), with, got.data.data(), got.data.data(), got, kMaxBlocks);
      expect_equal(right, got, got.data.data(), kMaxBlocks);
    }
  });
}

/// OCB far into a long message, where the number of zeros at the end of a block's number is high.
TEST_P(Fused, OcbTakesAnyBlockNumber) {
  for (const std::uint64_t first : {std::uint64_t{2}, std::uint64_t{33}, (std::uint64_t{1} << 32) - 40,
                                    (std::uint64_t{1} << 56) - 5, std::uint64_t{0x123456789abcd}}) {
    for_each_kernel([&](Kind kind, Setting with) {
      if (kind != Kind::ocb_encrypt && kind != Kind::ocb_decrypt) return;
      with.first = first;
      State right = begin(kMaxBlocks, 5), got = right;
      for (std::size_t i = 0; i < kMaxBlocks; i++) model_block(kind, with, right, i);
      run_kernel(kind, fused(), with, got.data.data(), got.data.data(), got, kMaxBlocks);
      expect_equal(right, got, got.data.data(), kMaxBlocks);
    });
  }
}

const Bytes kHashKeys[] = {Bytes(16), Bytes(16, 0xff), random_bytes(16, 1), random_bytes(16, 2)};

TEST_P(Fused, GhashIsThatOfTheStandard) {
  for (const Bytes& h : kHashKeys) {
    const Bytes in = random_bytes(kMaxBlocks * kBlockBytes, 7), start = random_bytes(kBlockBytes, 8);
    Bytes right = start;
    aes::HashKey key{};
    if (fused().gcm_prepare) fused().gcm_prepare(key, h.data());
    for (std::size_t blocks = 0; blocks <= kMaxBlocks; blocks++) {
      if (blocks > 0) add(right.data(), &in[(blocks - 1) * kBlockBytes]), multiply(right.data(), h.data());
      Bytes by_key = start, by_powers = start;
      if (GetParam()->ghash) {
        GetParam()->ghash(by_key.data(), h.data(), in.data(), blocks);
        ASSERT_EQ(by_key, right) << blocks << " blocks";
      }
      if (fused().gcm_hash) {
        fused().gcm_hash(key, by_powers.data(), in.data(), blocks);
        ASSERT_EQ(by_powers, right) << blocks << " blocks";
      }
    }
  }
}

}  // namespace
}  // namespace nbdcrypt::test
