// SPDX-License-Identifier: Apache-2.0
#include "tests/aes/support.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <random>
#include <stdexcept>
#include <tuple>

#include "aes/key_schedule.h"
#include "aes/registry.h"
#include "tests/aes/software_backends.h"

namespace nbdcrypt::test {
namespace {

const aes::Backend& generic() {
  static const aes::Backend* const backend = aes::by_name("generic");
  return *backend;
}

void add(Byte* to, const Byte* block) {
  for (std::size_t i = 0; i < kBlockBytes; i++) to[i] ^= block[i];
}

/// Adds one to the number in the last `bytes` bytes of a block.
void count(Byte* block, std::size_t bytes) {
  for (std::size_t i = kBlockBytes; i-- > kBlockBytes - bytes;) {
    if (++block[i] != 0) return;
  }
}

void times_x(Byte* tweak) {
  unsigned carry = 0;
  for (std::size_t i = 0; i < kBlockBytes; i++) {
    const unsigned doubled = tweak[i] << 1 | carry;
    tweak[i] = static_cast<Byte>(doubled);
    carry = doubled >> 8;
  }
  if (carry) tweak[0] ^= 0x87;
}

struct Model {
  const aes::Key& key;

  void encrypt(Byte* block) const { generic().encrypt(key, block, block, 1); }
  void decrypt(Byte* block) const { generic().decrypt(key, block, block, 1); }

  /// `x`: the block, in place; `iv`: the slot of its unit.
  void step(aes::Op op, Byte* x, Byte* iv) const {
    Byte input[kBlockBytes];
    std::memcpy(input, x, kBlockBytes);
    switch (op) {
      case aes::ecb_enc:
        return encrypt(x);
      case aes::ecb_dec:
        return decrypt(x);
      case aes::cbc_enc:
        add(x, iv), encrypt(x);
        return copy(iv, x);
      case aes::cbc_dec:
        decrypt(x), add(x, iv);
        return copy(iv, input);
      case aes::cfb_enc:
        encrypt(iv), add(x, iv);
        return copy(iv, x);
      case aes::cfb_dec:
        encrypt(iv), add(x, iv);
        return copy(iv, input);
      case aes::ofb:
        return encrypt(iv), add(x, iv);
      case aes::ctr:
        return counter_mode(x, iv, 16);
      case aes::ctr32:
        return counter_mode(x, iv, 4);
      case aes::xts_enc:
        add(x, iv), encrypt(x), add(x, iv);
        return times_x(iv);
      case aes::xts_dec:
        add(x, iv), decrypt(x), add(x, iv);
        return times_x(iv);
      case aes::kOps:
        break;
    }
    throw std::logic_error("no such operation");
  }

  static void copy(Byte* to, const Byte* from) { std::memcpy(to, from, kBlockBytes); }

  void counter_mode(Byte* x, Byte* iv, std::size_t counter_bytes) const {
    Byte mask[kBlockBytes];
    copy(mask, iv);
    encrypt(mask), add(x, mask);
    count(iv, counter_bytes);
  }
};

}  // namespace

std::vector<const aes::Backend*> tested_backends() {
  std::vector<const aes::Backend*> backends(aes::all().begin(), aes::all().end());
  for (const aes::Backend* backend : software_backends()) {
    if (aes::runs_here(*backend)) backends.push_back(backend);
  }
  return backends;
}

std::string test_name(const testing::TestParamInfo<const aes::Backend*>& backend) {
  std::string name = backend.param->name;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

const char* op_name(aes::Op op) {
  constexpr const char* kNames[] = {"ecb_enc", "ecb_dec", "cbc_enc", "cbc_dec", "cfb_enc", "cfb_dec",
                                    "ofb",     "ctr",     "ctr32",   "xts_enc", "xts_dec"};
  static_assert(std::size(kNames) == aes::kOps);
  return kNames[op];
}

std::vector<aes::Op> offloaded(const aes::Backend& backend) {
  std::vector<aes::Op> ops;
  for (unsigned op = 0; op < aes::kOps; op++) {
    if (backend.offload.of[op]) ops.push_back(static_cast<aes::Op>(op));
  }
  return ops;
}

Bytes random_bytes(std::size_t count, std::uint64_t seed) {
  std::mt19937_64 source(seed);
  Bytes bytes(count);
  for (Byte& byte : bytes) byte = static_cast<Byte>(source());
  return bytes;
}

aes::Key test_key(const aes::Backend& backend, std::size_t key_bytes) {
  aes::Key key;
  EXPECT_TRUE(aes::make_key(backend, random_bytes(key_bytes, key_bytes), key));
  return key;
}

void model(aes::Op op, const aes::Key& key, const aes::Run& run) {
  std::memmove(run.out, run.in, run.unit * run.count);
  for (std::size_t unit = 0; unit < run.count; unit++) {
    Byte* const iv = run.iv ? run.iv + kBlockBytes * unit : nullptr;
    for (std::size_t at = 0; at < run.unit; at += kBlockBytes) Model{key}.step(op, run.out + run.unit * unit + at, iv);
  }
}

const Expected& expected(aes::Op op, std::size_t key_bytes, std::size_t unit) {
  static std::map<std::tuple<aes::Op, std::size_t, std::size_t>, Expected> cache;
  const auto [entry, is_new] = cache.try_emplace({op, key_bytes, unit});
  Expected& e = entry->second;
  if (is_new) {
    e.in = random_bytes(unit * kMaxCount, op + unit);
    e.iv_out = e.iv_in = random_bytes(kBlockBytes * kMaxCount, op + unit + 1);
    e.out.resize(e.in.size());
    model(op, test_key(generic(), key_bytes), {e.in.data(), e.out.data(), e.iv_out.data(), unit, kMaxCount});
  }
  return e;
}

Guarded::Guarded(std::size_t size) : size_(size) {
  const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE)), inside = (size + page - 1) / page * page;
  void* const all = mmap(nullptr, inside + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (all == MAP_FAILED) throw std::runtime_error("mmap");
  start_ = static_cast<Byte*>(all) + page;
  end_ = start_ + inside;
  if (mprotect(start_, inside, PROT_READ | PROT_WRITE) != 0) throw std::runtime_error("mprotect");
}

Guarded::~Guarded() {
  const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  munmap(start_ - page, static_cast<std::size_t>(end_ - start_) + 2 * page);
}

}  // namespace nbdcrypt::test
