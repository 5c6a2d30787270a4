// SPDX-License-Identifier: Apache-2.0
#include "tests/constant_time/disassembly/state.h"

#include <algorithm>

namespace nbdcrypt::disassembly {
namespace {

// Offsets in aes::Key and in aes::Run, GcmRun, OcbRun and MacRun where pointers have eight bytes.
constexpr long kPublicPartOfKey = 480, kIvOfRun = 16;

long array_of(const Value& place) { return place.offset != kUnknown ? place.offset : place.array; }

}  // namespace

Value join(const Value& a, const Value& b) {
  if (a == b) return a;
  if (a.is_secret() || b.is_secret()) return kSecret;
  if (a.kind == b.kind && a.region == b.region) {
    Value both{.kind = a.kind, .offset = kUnknown, .region = a.region, .array = kUnknown};
    if (a.kind == Kind::frame) both.array = std::min(array_of(a), array_of(b));
    return both;
  }
  return kOpen;
}

/// a + b or a - b. `constant`: b, where it is one.
Value moved(const Value& a, const Value& b, std::optional<long> constant) {
  if (a.is_secret() || b.is_secret()) return kSecret;
  if (a.kind == Kind::open && b.kind != Kind::open) return moved(b, a, {});
  if (!constant && b.offset != kUnknown && b.kind == Kind::open) constant = b.offset;
  Value sum = a;
  if (sum.offset != kUnknown && !constant) {
    const long before = std::exchange(sum.offset, kUnknown);
    if (sum.kind == Kind::frame) sum.array = before;
  }
  if (sum.offset != kUnknown) sum.offset += *constant;
  return sum;
}

Value State::load(const Value& at, int width, bool counter_mode) const {
  switch (at.kind) {
    case Kind::frame:
      return load_frame(at, width);
    case Kind::key:
      return at.offset != kUnknown && at.offset >= kPublicPartOfKey ? kOpen : kSecret;
    case Kind::run:
      return at.offset == kIvOfRun ? Value{.kind = Kind::iv} : kOpen;
    case Kind::iv:
      return counter_mode ? kOpen : kSecret;
    case Kind::constant:
      return kOpen;
    case Kind::open:
    case Kind::secret:
      break;
  }
  return kSecret;
}

Value State::load_frame(const Value& at, int width) const {
  if (at.offset == kUnknown) return load_array(at.region, at.array);
  std::optional<Value> all;
  for (long piece = at.offset & ~7L; piece < at.offset + width; piece += 8) {
    const auto found = stack.find({at.region, piece});
    const Value held = found != stack.end() ? found->second : load_array(at.region, piece);
    all = all ? join(*all, held) : held;
  }
  return *all;
}

/// The array that begins at `place` or before.
Value State::load_array(std::uint64_t region, long place) const {
  auto at = arrays.upper_bound({region, place});
  if (place == kUnknown || at == arrays.begin() || (--at)->first.first != region) return kSecret;
  return at->second;
}

void State::store(const Value& at, int width, const Value& value) {
  if (at.kind != Kind::frame) return;
  if (at.offset == kUnknown) return store_array(at, value);
  for (long piece = at.offset & ~7L; piece < at.offset + width; piece += 8) {
    const bool whole = piece >= at.offset && piece + 8 <= at.offset + width;
    Value& held = stack.try_emplace({at.region, piece}, value).first->second;
    held = whole || width >= 4 ? value : join(held, value);
  }
}

void State::store_array(const Value& at, const Value& value) {
  const auto [held, is_new] = arrays.try_emplace({at.region, array_of(at)}, value);
  if (!is_new) held->second = join(held->second, value);
  if (!value.is_secret()) return;
  for (auto* known : {&stack, &arrays}) {
    for (auto place = known->lower_bound({at.region, array_of(at)}); place != known->end(); ++place) {
      if (place->first.first == at.region) place->second = kSecret;
    }
  }
}

State join(const State& a, const State& b) {
  State both = a;
  for (int i = 0; i < State::kRegisters; ++i) both.registers[i] = join(a.registers[i], b.registers[i]);
  for (auto at = both.stack.begin(); at != both.stack.end();) {
    const auto other = b.stack.find(at->first);
    if (other == b.stack.end()) {
      at = both.stack.erase(at);
    } else {
      at->second = join(at->second, other->second);
      ++at;
    }
  }
  for (const auto& [place, value] : b.arrays) {
    const auto [at, is_new] = both.arrays.try_emplace(place, value);
    if (!is_new) at->second = join(at->second, value);
  }
  return both;
}

}  // namespace nbdcrypt::disassembly
