// SPDX-License-Identifier: Apache-2.0
//
// VIA PadLock ACE: `rep xcrypt` takes a whole unit, or in ECB a whole batch, in one instruction. Processors of VIA
// since the C3 Nehemiah, and of Zhaoxin; CTR since ACE2 (C7). Source: VIA PadLock Programming Guide. Its rules:
//  - the control word, key and IV are aligned to 16 bytes, and so are the data (C7 and later take others, slowly);
//  - the key and control word stay in the unit until something loads EFLAGS: after a change of either, and only then,
//    the flags are pushed and popped. Each thread remembers the serial of its key; the kernel, which loads EFLAGS
//    whenever it returns, makes the unit read key and control word again by itself;
//  - it fetches input ahead, up to eight blocks in ECB and four in CBC (Nano), but nothing beyond input that is a
//    multiple of that: what comes after may be a page that is not there;
//  - 16 bits of the counter count: the carry is ours;
//  - it expands keys of 128 bits by itself; longer ones come expanded, in the byte order of FIPS 197.
// XTS is ECB over the batch between two passes that add the tweaks.
#include <string.h>

#include "aes/cpu.h"
#include "aes/key_schedule.h"
#include "aes/x86_clear.h"

namespace nbdcrypt::aes {

extern constinit const Backend via_padlock, via_padlock_c3;

namespace {

constexpr size_t kFetchBlocks = 8, kFetchBytes = kFetchBlocks * kBlockBytes;

struct alignas(16) ControlWord {
  uint32_t bits[4];
};

enum class Direction : uint32_t { encrypt, decrypt };

constexpr ControlWord control_word(uint32_t rounds, Direction direction) noexcept {
  const uint32_t size = (rounds - 10) / 2, expanded = size > 0;
  return {{rounds | expanded << 7 | static_cast<uint32_t>(direction) << 9 | size << 10}};
}

constexpr ControlWord kControlWords[3][2] = {
    {control_word(10, Direction::encrypt), control_word(10, Direction::decrypt)},
    {control_word(12, Direction::encrypt), control_word(12, Direction::decrypt)},
    {control_word(14, Direction::encrypt), control_word(14, Direction::decrypt)}};

/// What the unit holds on behalf of this thread: no key, only which one.
constinit thread_local struct {
  uint64_t serial;
  const ControlWord* control;
} held = {};

[[gnu::noinline]] void make_unit_read_key() noexcept { asm volatile("pushf\n\tpopf" ::: "memory", "cc"); }

enum class Mode { ecb = 0xc8, cbc = 0xd0, ctr = 0xd8, cfb = 0xe0, ofb = 0xe8 };

/// A key and a control word that the unit holds, for one direction.
class Unit {
 public:
  /// `forward`: run the cipher itself in both directions, as CFB does.
  Unit(const Key& key, Direction direction, bool forward = false) noexcept
      : control_(&kControlWords[(key.rounds - 10) / 2][static_cast<uint32_t>(direction)]),
        // Hardware that expands a key derives the decryption schedule from it as well.
        key_(direction == Direction::decrypt && !forward && key.rounds > 10 ? key.dec : key.enc) {
    if (held.serial == key.serial && held.control == control_) return;
    make_unit_read_key();
    held = {key.serial, control_};
  }

  /// One instruction. Returns where the next IV is: in `iv`, or the last block of `out`.
  template <Mode kMode>
  [[gnu::always_inline]] Byte* run(Byte* iv, const Byte* in, Byte* out, size_t blocks) const noexcept {
    if (blocks == 0) return iv;
    asm volatile(".byte 0xf3, 0x0f, 0xa7, %c[mode]"
                 : "+a"(iv), "+S"(in), "+D"(out), "+c"(blocks)
                 : "d"(control_), "b"(key_), [mode] "i"(kMode)
                 : "memory", "cc");
    return iv;
  }

 private:
  const ControlWord* control_;
  const Byte* key_;
};

bool is_aligned(const Byte* p) noexcept { return reinterpret_cast<uintptr_t>(p) % kBlockBytes == 0; }

/// ECB through a buffer of ours.
void bounce_ecb(const Unit& unit, const Byte* in, Byte* out, size_t blocks) noexcept {
  constexpr size_t kBounceBlocks = 64;
  alignas(16) Byte data[kBounceBlocks * kBlockBytes];
  while (blocks > 0) {
    const size_t part = blocks < kBounceBlocks ? blocks : kBounceBlocks, bytes = part * kBlockBytes;
    memcpy(data, in, bytes);
    // A part that is no multiple of what is fetched is shorter than the buffer by at least the difference.
    unit.run<Mode::ecb>(nullptr, data, data, part);
    memcpy(out, data, bytes);
    in += bytes, out += bytes, blocks -= part;
  }
}

/// ECB that reads nothing behind the input: first what is left over from whole fetches, which reads into the rest.
void ecb_exactly(const Unit& unit, const Byte* in, Byte* out, size_t blocks) noexcept {
  if (!is_aligned(in) || !is_aligned(out) || blocks < kFetchBlocks) return bounce_ecb(unit, in, out, blocks);
  const size_t first = blocks % kFetchBlocks, bytes = first * kBlockBytes;
  unit.run<Mode::ecb>(nullptr, in, out, first);
  unit.run<Mode::ecb>(nullptr, in + bytes, out + bytes, blocks - first);
}

template <Direction kDirection>
void crypt_blocks(const Key& key, const Byte* in, Byte* out, size_t blocks) noexcept {
  if (blocks > 0) ecb_exactly(Unit(key, kDirection), in, out, blocks);
}

template <Direction kDirection>
void ecb(const Key& key, const Run& run) noexcept {
  Unit(key, kDirection).run<Mode::ecb>(nullptr, run.in, run.out, run.unit / kBlockBytes * run.count);
}

template <Mode kMode, Direction kDirection>
void chain(const Key& key, const Run& run) noexcept {
  const Unit unit(key, kDirection, kMode != Mode::cbc);
  for (size_t i = 0; i < run.count; i++) {
    Byte* const iv = run.iv + kBlockBytes * i;
    const Byte* const next = unit.run<kMode>(iv, run.in + run.unit * i, run.out + run.unit * i, run.unit / kBlockBytes);
    if (next != iv) memcpy(iv, next, kBlockBytes);
  }
}

/// A big-endian counter of kBytes bytes at the end of a block.
template <size_t kBytes>
void count_up(Byte* counter, size_t by) noexcept {
  for (size_t i = kBlockBytes; i-- > kBlockBytes - kBytes;) {
    by += counter[i];
    counter[i] = static_cast<Byte>(by);
    by >>= 8;
  }
}

/// Blocks whose counters do not carry out of 16 bits. The unit leaves the counter changed, in a way that depends on its
/// version, so it gets a copy.
void ctr_without_carry(const Unit& unit, const Byte* iv, const Byte* in, Byte* out, size_t blocks) noexcept {
  alignas(16) Byte counter[kBlockBytes];
  memcpy(counter, iv, sizeof counter);
  unit.run<Mode::ctr>(counter, in, out, blocks);
}

/// What follows a carry ends where the unit ends, but is no multiple of what is fetched: through a buffer of ours.
template <size_t kCounterBytes>
void ctr_behind_carry(const Unit& unit, Byte* iv, const Byte* in, Byte* out, size_t blocks) noexcept {
  alignas(16) Byte data[kFetchBytes];
  for (; blocks > 0; blocks--, in += kBlockBytes, out += kBlockBytes) {
    memcpy(data, in, kBlockBytes);
    ctr_without_carry(unit, iv, data, data, 1);
    memcpy(out, data, kBlockBytes);
    count_up<kCounterBytes>(iv, 1);
  }
}

template <size_t kCounterBytes>
void ctr(const Key& key, const Run& run) noexcept {
  const Unit unit(key, Direction::encrypt);
  const size_t blocks = run.unit / kBlockBytes;
  for (size_t i = 0; i < run.count; i++) {
    Byte* const iv = run.iv + kBlockBytes * i;
    const size_t until_carry = 0x10000 - (static_cast<size_t>(iv[14]) << 8 | iv[15]);
    const size_t first = blocks < until_carry ? blocks : until_carry, done = run.unit * i + kBlockBytes * first;
    ctr_without_carry(unit, iv, run.in + run.unit * i, run.out + run.unit * i, first);
    count_up<kCounterBytes>(iv, first);
    ctr_behind_carry<kCounterBytes>(unit, iv, run.in + done, run.out + done, blocks - first);
  }
}

/// A tweak in registers, times x in GF(2^128) of IEEE 1619-2018, 5.2. PadLock lives in little-endian processors.
struct Tweak {
  uint64_t low, high;

  void operator()(Byte* to, const Byte* in) noexcept {
    uint64_t word[2];
    memcpy(word, in, sizeof word);
    word[0] ^= low, word[1] ^= high;
    memcpy(to, word, sizeof word);
    const uint64_t carry = 0 - (high >> 63);
    high = high << 1 | low >> 63;
    low = low << 1 ^ (0x87 & carry);
  }
};

/// out = in ^ tweaks. Only with `kAdvance` are the slots moved on.
template <bool kAdvance>
void add_tweaks(const Run& run, const Byte* in) noexcept {
  for (size_t i = 0; i < run.count; i++) {
    Byte* const iv = run.iv + kBlockBytes * i;
    Tweak tweak;
    memcpy(&tweak, iv, sizeof tweak);
    for (size_t at = run.unit * i; at < run.unit * (i + 1); at += kBlockBytes) tweak(run.out + at, in + at);
    if constexpr (kAdvance) memcpy(iv, &tweak, sizeof tweak);
  }
}

template <Direction kDirection>
void xts(const Key& key, const Run& run) noexcept {
  add_tweaks<false>(run, run.in);
  ecb_exactly(Unit(key, kDirection), run.out, run.out, run.unit / kBlockBytes * run.count);
  add_tweaks<true>(run, run.out);
}

constexpr Offload offload(bool counts) noexcept {
  Offload table;
  table.of[ecb_enc] = ecb<Direction::encrypt>;
  table.of[ecb_dec] = ecb<Direction::decrypt>;
  table.of[cbc_enc] = chain<Mode::cbc, Direction::encrypt>;
  table.of[cbc_dec] = chain<Mode::cbc, Direction::decrypt>;
  table.of[cfb_enc] = chain<Mode::cfb, Direction::encrypt>;
  table.of[cfb_dec] = chain<Mode::cfb, Direction::decrypt>;
  table.of[ofb] = chain<Mode::ofb, Direction::encrypt>;
  if (counts) table.of[aes::ctr] = ctr<16>, table.of[ctr32] = ctr<4>;
  table.of[xts_enc] = xts<Direction::encrypt>;
  table.of[xts_dec] = xts<Direction::decrypt>;
  return table;
}

// The instruction could go on for as long as its counter; XTS passes three times over what it is given, which is to
// stay in the cache of the second level (1 MiB in the Nano).
constexpr Limits kLimits{
    .align = 16, .iv_align = 16, .overread = kFetchBytes - kBlockBytes, .fetch = kFetchBytes, .max_bytes = 256 * 1024};

}  // namespace

constinit const Backend via_padlock{
    .name = "via-padlock",
    .needs = cpu::ace | cpu::ace2,
    .expand_key = expand_key,
    .encrypt = crypt_blocks<Direction::encrypt>,
    .decrypt = crypt_blocks<Direction::decrypt>,
    .offload = offload(true),
    .limits = kLimits,
    .stack_bytes = 4096,
    .clear_registers = clear_xmm,  // of the key expansion; these processors all have SSE
};

/// The first version of the unit.
constinit const Backend via_padlock_c3{
    .name = "via-padlock-c3",
    .needs = cpu::ace,
    .expand_key = expand_key,
    .encrypt = crypt_blocks<Direction::encrypt>,
    .decrypt = crypt_blocks<Direction::decrypt>,
    .offload = offload(false),
    .limits = kLimits,
    .stack_bytes = 4096,
    .clear_registers = clear_xmm,  // of the key expansion; these processors all have SSE
};

}  // namespace nbdcrypt::aes
