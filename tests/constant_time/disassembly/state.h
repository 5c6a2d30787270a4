// SPDX-License-Identifier: Apache-2.0
//
// What the data flow knows at a point of a program: a value for each register, and for places of the stack.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

namespace nbdcrypt::disassembly {

enum class Kind {
  open,      // public, and a pointer to secrets where it is a pointer
  constant,  // a pointer to constants
  secret,    // or unknown
  frame,     // a pointer into the stack
  key,       // a pointer into a Key
  run,       // a pointer to a Run
  iv,        // a pointer to IVs
};

inline constexpr long kUnknown = INT64_MIN;

struct Value {
  Kind kind = Kind::open;
  long offset = kUnknown;    // of frame, key and run, where it is known; of open, the number
  std::uint64_t region = 0;  // of frame: the stack has been aligned there
  long array = kUnknown;     // of frame, once an index was added: where it would be with index 0

  bool operator==(const Value&) const = default;
  bool is_secret() const { return kind == Kind::secret; }
};

inline constexpr Value kOpen{}, kSecret{.kind = Kind::secret};

Value join(const Value& a, const Value& b);

/// a + b or a - b. `constant`: b, where it is one.
Value moved(const Value& a, const Value& b, std::optional<long> constant);

struct State {
  static constexpr int kRegisters = 128;

  std::array<Value, kRegisters> registers;
  std::map<std::pair<std::uint64_t, long>, Value> stack;   // pieces of eight bytes
  std::map<std::pair<std::uint64_t, long>, Value> arrays;  // what was stored with an index, by the place of index 0

  bool operator==(const State&) const = default;

  /// What lies at `at`, `width` bytes. counter_mode: IVs are public.
  Value load(const Value& at, int width, bool counter_mode) const;
  void store(const Value& at, int width, const Value& value);
  /// Somewhere from the array of `at` on. A secret spoils all that is known above, as nobody knows where the array
  /// ends; compilers put what they spill below arrays.
  void store_array(const Value& at, const Value& value);

 private:
  Value load_frame(const Value& at, int width) const;
  Value load_array(std::uint64_t region, long place) const;
};

State join(const State& a, const State& b);

}  // namespace nbdcrypt::disassembly
