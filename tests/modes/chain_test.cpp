// SPDX-License-Identifier: Apache-2.0
//
// Every backend, operation and offload level against the stock path of the generic backend, which chains one block at
// a time; the stock path itself is held against published figures and other libraries in vectors_test and
// differential_test.
#include "modes/chain.h"

#include <gtest/gtest.h>

#include <cstdio>

#include "base/error.h"
#include "tests/modes/samples.h"
#include "tests/support/guarded_buffer.h"

namespace nbdcrypt::modes {
namespace {

using test::Bytes;

/// A batch with what came of it.
struct Result {
  Bytes out, iv;
  bool operator==(const Result&) const = default;
};

/// Where two results part, for a failure's message: the bytes themselves would fill pages.
void PrintTo(const Result& result, std::ostream* to) {
  *to << result.out.size() << " bytes and " << result.iv.size() / 16 << " ivs";
}

struct Shape {
  std::size_t unit, count;
};

struct Sample {
  Bytes key, in, iv;
  Shape shape;
};

Sample sample(Shape shape, std::size_t key_bytes = 32) {
  Sample sample{.key = test::some_bytes(key_bytes, 1),
                .in = test::some_bytes(shape.unit * shape.count, 2),
                .iv = test::some_bytes(16 * shape.count, 3),
                .shape = shape};
  // Counters that carry over 32, 64 and 128 bits within the first blocks.
  for (std::size_t i = 0; i < shape.count; ++i) {
    const std::size_t ones = i % 4 == 0 ? 16 : i % 4 == 1 ? 8 : i % 4 == 2 ? 4 : 0;
    std::fill_n(sample.iv.begin() + static_cast<std::ptrdiff_t>(16 * i + 16 - ones), ones, test::Byte{0xff});
  }
  return sample;
}

Result run(const Chain& chain, const Sample& sample) {
  Result result{.out = Bytes(sample.in.size()), .iv = sample.iv};
  chain.run(test::key_of(chain.backend(), sample.key), {.in = sample.in.data(),
                                                        .out = result.out.data(),
                                                        .iv = result.iv.data(),
                                                        .unit = sample.shape.unit,
                                                        .count = sample.shape.count});
  return result;
}

const aes::Backend& generic_backend() { return *aes::by_name("generic"); }

Result expected(aes::Op op, const Sample& sample) { return run(Chain(generic_backend(), op, Offload::off), sample); }

class EveryBackend : public testing::TestWithParam<const aes::Backend*> {
 protected:
  /// Calls check(chain) for every operation and offload level of the backend.
  template <class F>
  void for_each_chain(F&& check) {
    for (const aes::Op op : test::all_ops()) {
      for (const Offload offload : test::kLevels) {
        SCOPED_TRACE(std::string(name_of(op)) + " " + name_of(offload));
        check(op, Chain(*GetParam(), op, offload));
        if (HasFailure()) return;
      }
    }
  }
};

std::vector<Shape> many_shapes() {
  std::vector<Shape> shapes;
  for (const std::size_t unit : {16u, 32u, 48u, 240u, 512u, 528u}) {
    for (const std::size_t count : {1u, 2u, 3u, 8u, 15u, 16u, 17u, 33u}) shapes.push_back({unit, count});
  }
  for (const std::size_t unit : {1024u, 2048u, 4096u}) {
    for (const std::size_t count : {1u, 3u, 17u}) shapes.push_back({unit, count});
  }
  return shapes;
}

TEST_P(EveryBackend, GivesTheSameAtEveryLevelShapeAndKeySize) {
  for (const aes::Op op : test::all_ops()) {
    for (const std::size_t key_bytes : {16u, 24u, 32u}) {
      for (const Shape& shape : many_shapes()) {
        const Sample in = sample(shape, key_bytes);
        const Result right = expected(op, in);
        for (const Offload offload : test::kLevels) {
          ASSERT_EQ(run(Chain(*GetParam(), op, offload), in), right)
              << name_of(op) << " " << name_of(offload) << " " << key_bytes << " " << shape.unit << " " << shape.count;
        }
      }
    }
  }
}

TEST_P(EveryBackend, WorksInPlaceAtAnyAlignment) {
  const Sample in = sample({528, 5});
  const aes::Key key = test::key_of(*GetParam(), in.key);
  for_each_chain([&](aes::Op op, const Chain& chain) {
    const Result right = expected(op, in);
    for (const std::size_t offset : {0u, 1u, 8u, 15u, 17u}) {
      test::OffsetBuffer data(in.in.size(), offset), iv(in.iv.size(), offset + 3);
      data.assign(in.in);
      iv.assign(in.iv);
      chain.run(key, {.in = data.data(), .out = data.data(), .iv = iv.data(), .unit = 528, .count = 5});
      ASSERT_EQ(data.bytes(), right.out) << offset;
      ASSERT_EQ(iv.bytes(), right.iv) << offset;
    }
  });
}

TEST_P(EveryBackend, TouchesNothingAroundItsBuffers) {
  using test::GuardedBuffer;
  for_each_chain([&](aes::Op op, const Chain& chain) {
    for (const auto edge : {GuardedBuffer::Edge::front, GuardedBuffer::Edge::back}) {
      for (const std::size_t blocks : {1u, 2u, 3u, 7u, 8u, 9u, 31u, 33u}) {
        for (const std::size_t count : {1u, 3u, 17u}) {
          const Sample in = sample({blocks * 16, count});
          const aes::Key key = test::key_of(*GetParam(), in.key);
          GuardedBuffer from(in.in.size(), edge), to(in.in.size(), edge), iv(in.iv.size(), edge);
          std::ranges::copy(in.in, from.data());
          std::ranges::copy(in.iv, iv.data());
          chain.run(key, {.in = from.data(), .out = to.data(), .iv = iv.data(), .unit = blocks * 16, .count = count});
          ASSERT_TRUE(std::ranges::equal(to.bytes(), expected(op, in).out)) << blocks << " " << count;
        }
      }
    }
  });
}

TEST_P(EveryBackend, ContinuesAUnitFromItsIv) {
  const Sample whole = sample({20 * 16, 3});
  for_each_chain([&](aes::Op op, const Chain& chain) {
    const Result right = expected(op, whole);
    for (const std::size_t cut : {1u, 7u, 8u, 16u, 19u}) {
      // The first `cut` blocks of every unit as one batch, the rest as another.
      Result joined{.out = Bytes(whole.in.size()), .iv = whole.iv};
      for (const auto& [from, to] : {std::pair<std::size_t, std::size_t>{0, cut}, {cut, 20}}) {
        Sample part{.key = whole.key, .in = {}, .iv = joined.iv, .shape = {(to - from) * 16, 3}};
        for (std::size_t i = 0; i < 3; ++i) {
          part.in.insert(part.in.end(), whole.in.begin() + static_cast<std::ptrdiff_t>((i * 20 + from) * 16),
                         whole.in.begin() + static_cast<std::ptrdiff_t>((i * 20 + to) * 16));
        }
        const Result result = run(chain, part);
        for (std::size_t i = 0; i < 3; ++i) {
          std::copy_n(result.out.begin() + static_cast<std::ptrdiff_t>(i * part.shape.unit), part.shape.unit,
                      joined.out.begin() + static_cast<std::ptrdiff_t>((i * 20 + from) * 16));
        }
        joined.iv = result.iv;
      }
      ASSERT_EQ(joined, right) << cut;
    }
  });
}

TEST_P(EveryBackend, DecryptionUndoesEncryption) {
  const std::pair<aes::Op, aes::Op> pairs[] = {
      {aes::ecb_enc, aes::ecb_dec}, {aes::cbc_enc, aes::cbc_dec}, {aes::cfb_enc, aes::cfb_dec}, {aes::ofb, aes::ofb},
      {aes::ctr, aes::ctr},         {aes::ctr32, aes::ctr32},     {aes::xts_enc, aes::xts_dec}};
  const Sample plain = sample({1024, 9});
  for (const auto& [encrypt, decrypt] : pairs) {
    for (const Offload offload : test::kLevels) {
      Sample cipher = plain;
      cipher.in = run(Chain(*GetParam(), encrypt, offload), plain).out;
      EXPECT_NE(cipher.in, plain.in);
      EXPECT_EQ(run(Chain(*GetParam(), decrypt, offload), cipher).out, plain.in) << name_of(encrypt);
    }
  }
}

TEST_P(EveryBackend, EcbNeedsNoIv) {
  const Sample in = sample({64, 3});
  const aes::Key key = test::key_of(*GetParam(), in.key);
  for (const Offload offload : test::kLevels) {
    Bytes out(in.in.size());
    Chain(*GetParam(), aes::ecb_enc, offload)
        .run(key, {.in = in.in.data(), .out = out.data(), .iv = nullptr, .unit = 64, .count = 3});
    EXPECT_EQ(out, expected(aes::ecb_enc, in).out);
  }
}

TEST_P(EveryBackend, AnEmptyBatchChangesNothing) {
  const Sample in = sample({64, 1});
  const aes::Key key = test::key_of(*GetParam(), in.key);
  for_each_chain([&](aes::Op, const Chain& chain) {
    Bytes out = in.in, iv = in.iv;
    chain.run(key, {.in = in.in.data(), .out = out.data(), .iv = iv.data(), .unit = 64, .count = 0});
    chain.run(key, {.in = in.in.data(), .out = out.data(), .iv = iv.data(), .unit = 0, .count = 1});
    EXPECT_EQ(out, in.in);
    EXPECT_EQ(iv, in.iv);
  });
}

/// What running a batch of 4 units of 10 blocks adds to the counters.
struct Added {
  std::uint64_t offload, blocks;
  bool operator==(const Added&) const = default;
};

Added calls_made(const aes::Backend& backend, aes::Op op, Offload offload) {
  const Calls& calls = calls_of(backend);
  const Added before{calls.offload[op], calls.blocks[op]};
  run(Chain(backend, op, offload), sample({160, 4}));
  return {calls.offload[op] - before.offload, calls.blocks[op] - before.blocks};
}

TEST_P(EveryBackend, CountsWhatEachLevelHandsOver) {
  const aes::Backend& backend = *GetParam();
  for (const aes::Op op : test::all_ops()) {
    SCOPED_TRACE(name_of(op));
    const bool has_kernel = backend.offload.of[op] != nullptr;
    // Serial modes: one call a block, for all units at once where there are several.
    const bool serial = op == aes::cbc_enc || op == aes::cfb_enc || op == aes::ofb;
    EXPECT_EQ(calls_made(backend, op, Offload::off), (Added{0, 40}));
    EXPECT_EQ(calls_made(backend, op, Offload::buffer), has_kernel ? (Added{4, 0}) : (Added{0, serial ? 40u : 4u}));
    EXPECT_EQ(calls_made(backend, op, Offload::batch), has_kernel ? (Added{1, 0}) : (Added{0, serial ? 10u : 1u}));
  }
}

TEST_P(EveryBackend, TakesEveryMisalignment) {
  const aes::Backend& backend = *GetParam();
  std::uint64_t bytes_tested = 0;
  for (const aes::Op op : test::all_ops()) {
    for (const std::size_t unit : {16u, 32u, 48u, 64u, 112u, 128u, 496u, 512u, 1024u, 2048u, 4080u, 4096u}) {
      for (const std::size_t count : {1u, 3u, 16u, 33u}) {
        const Bytes key = test::some_bytes(16 + 8 * (count % 3), unit), data = test::some_bytes(unit * count, count);
        const Bytes ivs = test::some_bytes(16 * count, unit + 1);
        Bytes right = data, right_iv = ivs;
        Chain(*aes::by_name("generic"), op, Offload::batch)
            .run(test::key_of(*aes::by_name("generic"), key),
                 {.in = right.data(), .out = right.data(), .iv = right_iv.data(), .unit = unit, .count = count});
        const Chain chain(backend, op, Offload::batch);
        const aes::Key own_key = test::key_of(backend, key);
        for (std::size_t offset = 1; offset < 16; ++offset) {
          test::OffsetBuffer in(unit * count, offset), iv(16 * count, 15 - offset);
          in.assign(data), iv.assign(ivs);
          chain.run(own_key, {.in = in.data(), .out = in.data(), .iv = iv.data(), .unit = unit, .count = count});
          ASSERT_TRUE(in.bytes() == right) << name_of(op) << " " << count << " units of " << unit << " at " << offset;
          ASSERT_TRUE(op <= aes::ecb_dec || iv.bytes() == right_iv) << name_of(op) << " " << count << " " << unit;
          bytes_tested += unit * count;
        }
      }
    }
  }
  std::printf("%s: %llu bytes tested\n", backend.name, static_cast<unsigned long long>(bytes_tested));
}

INSTANTIATE_TEST_SUITE_P(, EveryBackend, testing::ValuesIn(test::backends()), test::backend_name);

TEST(CallsOf, EachBackendHasItsOwn) {
  for (const aes::Backend* a : aes::built()) {
    for (const aes::Backend* b : aes::built()) EXPECT_EQ(&calls_of(*a) == &calls_of(*b), a == b);
  }
  const aes::Backend stranger = generic_backend();
  for (const aes::Backend* a : aes::built()) EXPECT_NE(&calls_of(*a), &calls_of(stranger));
}

TEST(OffloadNames, AreReadBack) {
  for (const Offload offload : test::kLevels) EXPECT_EQ(parse_offload(name_of(offload)), offload);
}

TEST(OffloadNames, AnUnknownOneIsAnErrorThatListsThem) {
  for (const char* name : {"", "on", "Batch", "batch "}) {
    try {
      parse_offload(name);
      ADD_FAILURE() << name;
    } catch (const base::Error& error) {
      EXPECT_EQ(error.kind(), base::Kind::usage);
      EXPECT_EQ(error.what(), "offload " + std::string(name) + ": unknown, expected off, buffer or batch");
    }
  }
}

}  // namespace
}  // namespace nbdcrypt::modes
