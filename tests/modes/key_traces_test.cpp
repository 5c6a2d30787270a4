// SPDX-License-Identifier: Apache-2.0
//
// Round keys belong into the memory of a base::Secret and nowhere else. Kernels hold them in registers, and a compiler
// may spill those to the stack: everything runs on a thread whose stack is ours, which is searched for each round key
// afterwards.
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "aes/key_schedule.h"
#include "aes/registry.h"
#include "base/secret.h"
#include "modes/aead.h"
#include "modes/sector_cipher.h"

namespace nbdcrypt::test {
namespace {

using modes::Byte;

constexpr std::size_t kStackBytes = 1 << 20;
constexpr Byte kPaint = 0xa5;

/// Runs `work` on a thread of its own, on a stack filled with kPaint, and returns what is left on it.
std::vector<Byte> stack_after(std::function<void()> work) {
  void* const stack = mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  EXPECT_NE(stack, MAP_FAILED);
  std::memset(stack, kPaint, kStackBytes);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstack(&attributes, stack, kStackBytes);
  pthread_t thread;
  const auto run = [](void* of) -> void* {
    (*static_cast<std::function<void()>*>(of))();
    return nullptr;
  };
  EXPECT_EQ(pthread_create(&thread, &attributes, run, &work), 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
  const auto* const bytes = static_cast<const Byte*>(stack);
  std::vector<Byte> left(bytes, bytes + kStackBytes);
  munmap(stack, kStackBytes);
  return left;
}

/// Bytes of stack that `work` used.
std::size_t depth_of(const std::function<void()>& work) {
  const std::vector<Byte> left = stack_after(work);
  return static_cast<std::size_t>(left.end() -
                                  std::find_if(left.begin(), left.end(), [](Byte byte) { return byte != kPaint; }));
}

/// How many of the round keys of `key`, in either direction, stand in `memory`.
std::size_t round_keys_in(const std::vector<Byte>& memory, std::span<const Byte> key) {
  aes::Key schedule;
  aes::expand_key(schedule, key.data(), key.size());
  std::size_t found = 0;
  for (const Byte* keys : {schedule.enc, schedule.dec}) {
    for (std::size_t round = 0; round <= schedule.rounds; ++round) {
      const Byte* const piece = keys + aes::kBlockBytes * round;
      const auto at = std::search(memory.begin(), memory.end(), piece, piece + aes::kBlockBytes);
      if (at != memory.end()) ++found;
    }
  }
  return found;
}

std::vector<Byte> some_key(std::size_t bytes, Byte seed) {
  std::vector<Byte> key(bytes);
  for (std::size_t i = 0; i < bytes; ++i) key[i] = static_cast<Byte>(seed + i * 73 + i * i * 11);
  return key;
}

struct Traces {
  const aes::Backend* backend;
  const char* spec;
};

class KeyTraces : public testing::TestWithParam<Traces> {};

std::vector<Traces> every_backend_and_spec() {
  std::vector<Traces> all;
  for (const aes::Backend* backend : aes::all())
    for (const char* spec : {"aes-xts-plain64", "aes-cbc-essiv:sha256", "aes-cbc-eboiv", "aes-ecb"})
      all.push_back({backend, spec});
  return all;
}

TEST_P(KeyTraces, NoRoundKeyIsLeftOnTheStack) {
  const modes::CipherSpec spec = modes::parse_cipher_spec(GetParam().spec);
  const bool is_xts = spec.mode == modes::Mode::xts;
  const std::vector<Byte> key = some_key(is_xts ? 64 : 32, 5), essiv = some_key(32, 91);
  for (const std::uint32_t sector_bytes : {512u, 4096u}) {
    for (const auto offload : {modes::Offload::off, modes::Offload::buffer, modes::Offload::batch}) {
      for (const std::size_t sectors : {1u, 3u, 16u, 67u}) {
        std::vector<Byte> data(sectors * sector_bytes, 0x3c);
        const std::vector<Byte> left = stack_after([&] {
          const base::Secret<modes::SectorCipher> cipher(std::in_place, *GetParam().backend, spec,
                                                         modes::SectorLayout{.sector_bytes = sector_bytes},
                                                         modes::SectorKeys{.key = key, .essiv_key = essiv}, offload);
          cipher->encrypt(7, data, data.data());
          cipher->decrypt(7, data, data.data());
        });
        SCOPED_TRACE(std::to_string(sectors) + " sectors of " + std::to_string(sector_bytes) + ", offload " +
                     name_of(offload));
        EXPECT_EQ(round_keys_in(left, std::span(key).first(32)), 0u);
        EXPECT_EQ(is_xts ? round_keys_in(left, std::span(key).last(32)) : 0, 0u);
        EXPECT_EQ(spec.iv == modes::IvKind::essiv ? round_keys_in(left, essiv) : 0, 0u);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Everywhere, KeyTraces, testing::ValuesIn(every_backend_and_spec()), [](const auto& test) {
  std::string name = std::string(test.param.backend->name) + "_" + test.param.spec;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == '-' || c == ':'; }, '_');
  return name;
});

class AeadTraces : public testing::TestWithParam<const aes::Backend*> {};

TEST_P(AeadTraces, NoRoundKeyIsLeftOnTheStack) {
  using modes::AeadMode;
  const std::vector<Byte> key = some_key(32, 5), nonce(12, 7), ad(77, 9);
  for (const AeadMode mode : {AeadMode::ccm, AeadMode::eax, AeadMode::gcm, AeadMode::ocb}) {
    for (const auto offload : {modes::Offload::off, modes::Offload::batch}) {
      for (const std::size_t size : {0u, 1u, 16u, 77u, 1424u, 20000u}) {
        std::vector<Byte> data(size, 0x3c), tag(16);
        bool opened = false;
        const std::vector<Byte> left = stack_after([&] {
          const base::Secret<modes::Aead> aead(std::in_place, *GetParam(), mode, key, offload);
          aead->seal(nonce, ad, data, data.data(), tag);
          opened = aead->open(nonce, ad, data, data.data(), tag);
        });
        SCOPED_TRACE(std::to_string(size) + " bytes in " + name_of(mode) + ", offload " + name_of(offload));
        EXPECT_TRUE(opened);
        EXPECT_EQ(round_keys_in(left, key), 0u);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Everywhere, AeadTraces, testing::ValuesIn(aes::all().begin(), aes::all().end()),
                         [](const auto& test) {
                           std::string name = test.param->name;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

// What SectorCipher wipes must be all that was used, Chain's own frames included.
TEST(StackDepth, NoBackendGoesDeeperThanItSays) {
  constexpr std::size_t kUnitBytes = 512, kUnits = 67, kOfChain = 256;
  const std::vector<Byte> key = some_key(32, 5);
  const std::size_t empty = depth_of([] {});
  for (const aes::Backend* backend : aes::all()) {
    aes::Key schedule;
    std::vector<Byte> data(kUnitBytes * kUnits), ivs(aes::kBlockBytes * kUnits);
    std::size_t deepest = depth_of([&] { backend->expand_key(schedule, key.data(), key.size()); });
    for (const aes::Blocks blocks : {backend->encrypt, backend->decrypt}) {
      for (const std::size_t count : {1u, 3u, 2048u})
        deepest = std::max(deepest, depth_of([&] { blocks(schedule, data.data(), data.data(), count); }));
    }
    for (const aes::Kernel kernel : backend->offload.of) {
      if (kernel == nullptr) continue;
      for (const std::size_t count : {std::size_t{1}, std::size_t{5}, kUnits}) {
        const aes::Run run{.in = data.data(), .out = data.data(), .iv = ivs.data(), .unit = kUnitBytes, .count = count};
        deepest = std::max(deepest, depth_of([&] { kernel(schedule, run); }));
      }
    }
    EXPECT_GT(deepest, empty) << backend->name;
    EXPECT_LE(deepest - empty + kOfChain, backend->stack_bytes) << backend->name;
    EXPECT_LE(backend->stack_bytes, base::kMaxStackBytes) << backend->name;
  }
}

TEST(KeyTracesSearch, FindsAKeyThatIsLeft) {
  const std::vector<Byte> key = some_key(32, 5);
  const std::vector<Byte> left = stack_after([&] {
    aes::Key schedule;  // not in a Secret
    aes::expand_key(schedule, key.data(), key.size());
    asm volatile("" : : "r"(&schedule) : "memory");
  });
  EXPECT_GT(round_keys_in(left, key), 20u);
}

}  // namespace
}  // namespace nbdcrypt::test
