// SPDX-License-Identifier: Apache-2.0
#include "tests/emulation/padlock/silicon.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "tests/emulation/padlock/byte_aes.h"

namespace nbdcrypt::test::padlock {
namespace {

using Byte = std::uint8_t;

#ifdef __x86_64__
enum {
  kAx = REG_RAX,
  kBx = REG_RBX,
  kCx = REG_RCX,
  kDx = REG_RDX,
  kSi = REG_RSI,
  kDi = REG_RDI,
  kIp = REG_RIP,
  kSp = REG_RSP
};
#else
enum {
  kAx = REG_EAX,
  kBx = REG_EBX,
  kCx = REG_ECX,
  kDx = REG_EDX,
  kSi = REG_ESI,
  kDi = REG_EDI,
  kIp = REG_EIP,
  kSp = REG_ESP
};
#endif
constexpr greg_t kTrapFlag = 0x100;
constexpr Byte kPopf = 0x9d, kBreakpoint = 0xcc;

enum Mode { ecb, cbc, ctr, cfb, ofb };

Silicon silicon;
std::atomic<bool> is_there{false};
struct {
  std::atomic<std::uint64_t> xcrypts, blocks, reloads, stale_keys;
} counted;
std::atomic<Byte*> popf_place{nullptr};

/// What a unit holds.
struct Held {
  Byte schedule[15][16];
  std::uint32_t control;
  Mode mode;
  bool valid;
};

/// Those of the last threads that used one. Neither on their stacks nor in their thread-local memory, where tests look
/// for keys that were left there.
constexpr unsigned kUnits = 256;
Held units[kUnits], loaded[kUnits];
std::atomic<unsigned> threads{0};
/// initial-exec: a handler must not allocate.
[[gnu::tls_model("initial-exec")]] thread_local unsigned this_thread = kUnits;

unsigned unit_of_thread() {
  if (this_thread == kUnits) {
    this_thread = threads.fetch_add(1) % kUnits;
    units[this_thread].valid = false;
  }
  return this_thread;
}

/// The registers of an instruction, by name.
struct Registers {
  greg_t* of;

  Byte* pointer(int which) const { return reinterpret_cast<Byte*>(of[which]); }
  void set(int which, const Byte* value) const { of[which] = reinterpret_cast<greg_t>(value); }
};

/// What the instruction would do: the default of that signal, which ends the process.
void fault(int signal) {
  struct sigaction action = {};
  action.sa_handler = SIG_DFL;
  sigaction(signal, &action, nullptr);
  raise(signal);
}

/// The system reads the new mask before it finds that the first argument is wrong.
bool is_readable(const Byte* at, std::size_t bytes) {
  const auto first = reinterpret_cast<std::uintptr_t>(at) & ~std::uintptr_t{7};
  for (std::uintptr_t page = first; page < reinterpret_cast<std::uintptr_t>(at) + bytes; page = (page | 4095) + 1) {
    if (syscall(SYS_rt_sigprocmask, ~0, page, nullptr, 8) == -1 && errno == EFAULT) return false;
  }
  return true;
}

bool is_aligned(const Byte* at) { return reinterpret_cast<std::uintptr_t>(at) % 16 == 0; }

/// Control words: rounds in bits 0 to 3, any alignment 5, key expanded 7, decrypt 9, key size 10 and 11.
struct Control {
  std::uint32_t bits;

  unsigned rounds() const { return bits & 15; }
  bool any_alignment() const { return bits >> 5 & 1; }
  bool expanded() const { return bits >> 7 & 1; }
  bool decrypts() const { return bits >> 9 & 1; }
  unsigned size() const { return bits >> 10 & 3; }

  bool is_right(Mode mode) const {
    constexpr std::uint32_t kKnown = 0xf | 1 << 5 | 1 << 7 | 1 << 9 | 3 << 10;
    if ((bits & ~kKnown) != 0 || size() == 3 || rounds() != 10 + 2 * size()) return false;
    if (size() > 0 && !expanded()) return false;  // only short keys are expanded by hardware
    if (any_alignment() && !silicon.has_ace2) return false;
    return !decrypts() || (mode != ctr && mode != ofb);
  }
};

void load_key(const Byte* key, Control control, Mode mode, Held& to) {
  to.control = control.bits, to.mode = mode, to.valid = true;
  if (control.expanded()) {
    std::memcpy(to.schedule, key, 16 * (control.rounds() + 1));
    return;
  }
  ByteAes::expand128(key, to.schedule);
  if (control.decrypts() && mode <= cbc) ByteAes::invert(to.schedule, control.rounds());
}

/// Keeps what is held, right or not, as the unit does; counts when it is not right.
void use_key(const Byte* key, Control control, Mode mode, const Held& held) {
  Held& now = loaded[unit_of_thread()];
  load_key(key, control, mode, now);
  const bool same =
      now.control == held.control && std::memcmp(now.schedule, held.schedule, 16 * (control.rounds() + 1)) == 0;
  if (!same) counted.stale_keys.fetch_add(1, std::memory_order_relaxed);
}

unsigned fetch_blocks(Mode mode) {
  return mode == ecb ? silicon.ecb_fetch_blocks : mode == cbc ? silicon.cbc_fetch_blocks : silicon.other_fetch_blocks;
}

void crypt_block(const Held& held, const Byte* in, Byte* out) {
  const Control control{held.control};
  const bool inverse = control.decrypts() && held.mode <= cbc;
  (inverse ? ByteAes::decrypt : ByteAes::encrypt)(held.schedule, control.rounds(), in, out);
}

void add(Byte* to, const Byte* a, const Byte* b) {
  for (unsigned i = 0; i < 16; ++i) to[i] = static_cast<Byte>(a[i] ^ b[i]);
}

void step(const Held& held, Mode mode, Byte* iv, const Byte* in, Byte* out) {
  const bool decrypts = Control{held.control}.decrypts();
  Byte input[16], x[16];
  std::memcpy(input, in, 16);
  if (mode == ecb) return crypt_block(held, input, out);
  if (mode == cbc && decrypts) {
    crypt_block(held, input, x), add(out, x, iv);
    std::memcpy(iv, input, 16);
  } else if (mode == cbc) {
    add(x, input, iv), crypt_block(held, x, iv);
    std::memcpy(out, iv, 16);
  } else {
    crypt_block(held, iv, x), add(out, input, x);
    if (mode == ofb) std::memcpy(iv, x, 16);
    if (mode == cfb) std::memcpy(iv, decrypts ? input : out, 16);
    if (mode == ctr && ++iv[15] == 0) ++iv[14];  // 16 bits count
  }
}

/// The instruction at `code`, or false.
bool decode(const Byte* code, Mode& mode) {
  if (code[0] != 0xf3 || code[1] != 0x0f || code[2] != 0xa7) return false;
  if (code[3] < 0xc8 || code[3] > 0xe8 || code[3] % 8 != 0) return false;
  mode = static_cast<Mode>((code[3] - 0xc8) / 8);
  return mode != ctr || silicon.has_ace2;
}

/// False: it faults.
bool execute(const Registers& registers, Mode mode) {
  const Byte *in = registers.pointer(kSi), *const key = registers.pointer(kBx),
             *const control_at = registers.pointer(kDx);
  Byte *out = registers.pointer(kDi), *const iv_at = registers.pointer(kAx);
  std::size_t blocks = static_cast<std::size_t>(registers.of[kCx]);
  if (!is_aligned(control_at) || !is_aligned(key) || (mode != ecb && !is_aligned(iv_at))) return false;
  Held& held = units[unit_of_thread()];
  Control control;
  std::memcpy(&control, control_at, sizeof control);
  if (!control.is_right(mode)) return false;
  if (!control.any_alignment() && (!is_aligned(in) || !is_aligned(out))) return false;
  if (!held.valid && control.expanded() && !is_readable(key, 256)) return false;
  counted.xcrypts.fetch_add(1, std::memory_order_relaxed);
  if (blocks == 0) return true;

  const unsigned fetch = fetch_blocks(mode);
  if (const std::size_t more = (fetch - blocks % fetch) % fetch;
      more > 0 && !is_readable(in + 16 * blocks, 16 * more)) {
    return false;
  }
  held.valid ? use_key(key, control, mode, held) : load_key(key, control, mode, held);
  counted.blocks.fetch_add(blocks, std::memory_order_relaxed);
  Byte iv[16] = {};
  if (mode != ecb) std::memcpy(iv, iv_at, 16);
  for (; blocks > 0; --blocks, in += 16, out += 16) step(held, mode, iv, in, out);
  // Encryption in CBC and CFB leaves the pointer at the last block of the output; all else renews the IV in memory.
  if ((mode == cbc || mode == cfb) && !control.decrypts()) {
    registers.set(kAx, out - 16);
  } else if (mode != ecb) {
    std::memcpy(iv_at, iv, 16);
  }
  registers.set(kSi, in), registers.set(kDi, out);
  registers.of[kCx] = 0;
  return true;
}

/// Puts a breakpoint in the place of POPF.
void watch(Byte* place) {
  Byte* const page = reinterpret_cast<Byte*>(reinterpret_cast<std::uintptr_t>(place) & ~std::uintptr_t{4095});
  if (mprotect(page, 4096, PROT_READ | PROT_WRITE | PROT_EXEC) != 0) std::abort();
  *place = kBreakpoint;
  popf_place.store(place);
}

/// A function that does nothing but push and pop the flags, near the instruction; null: there is none.
Byte* find_reload(const Byte* instruction) {
  constexpr Byte kReload[] = {0x9c, kPopf, 0xc3};  // pushf, popf, ret
  constexpr std::uintptr_t kFunctionAlign = 16, kNear = 16384;
  const std::uintptr_t here = reinterpret_cast<std::uintptr_t>(instruction) & ~(kFunctionAlign - 1);
  const std::uintptr_t first = (here - kNear) & ~std::uintptr_t{4095};  // where pages are asked for
  for (std::uintptr_t at = first; at < here + kNear; at += kFunctionAlign) {
    Byte* const code = reinterpret_cast<Byte*>(at);
    if (at % 4096 == 0 && !is_readable(code, 1))
      at += 4096 - kFunctionAlign;
    else if (std::memcmp(code, kReload, sizeof kReload) == 0)
      return code + 1;
  }
  return nullptr;
}

// QEMU enters handlers with a stack that is not aligned.
[[gnu::force_align_arg_pointer]] void on_illegal(int, siginfo_t*, void* context) {
  const int saved_errno = errno;
  const Registers registers{static_cast<ucontext_t*>(context)->uc_mcontext.gregs};
  Mode mode;
  if (!decode(registers.pointer(kIp), mode)) return fault(SIGILL);
  if (!execute(registers, mode)) return fault(SIGSEGV);
  registers.of[kIp] += 4;
  if (popf_place.load() == nullptr) {
    Byte* const reload = find_reload(registers.pointer(kIp));
    reload != nullptr ? watch(reload) : void(registers.of[REG_EFL] |= kTrapFlag);
  }
  errno = saved_errno;
}

void on_popf(const Registers& registers) {
  greg_t flags;
  std::memcpy(&flags, registers.pointer(kSp), sizeof flags);
  registers.of[REG_EFL] = flags & ~kTrapFlag;
  registers.of[kSp] += static_cast<greg_t>(sizeof flags);
  units[unit_of_thread()].valid = false;
  counted.reloads.fetch_add(1, std::memory_order_relaxed);
}

[[gnu::force_align_arg_pointer]] void on_trap(int, siginfo_t*, void* context) {
  const int saved_errno = errno;
  const Registers registers{static_cast<ucontext_t*>(context)->uc_mcontext.gregs};
  Byte* const ip = registers.pointer(kIp);
  Byte* const place = popf_place.load();
  if (place != nullptr && ip == place + 1) {
    on_popf(registers);
  } else if (place != nullptr || !is_there) {
    registers.of[REG_EFL] &= ~kTrapFlag;  // nothing to look for, or another thread has found it
  } else if (*ip == kPopf) {
    watch(ip);
    registers.of[REG_EFL] &= ~kTrapFlag;
  }
  errno = saved_errno;
}

void handle(int signal, void (*handler)(int, siginfo_t*, void*)) {
  struct sigaction action = {};
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  action.sa_sigaction = handler;
  if (sigaction(signal, &action, nullptr) != 0) std::abort();
}

}  // namespace

void install(const Silicon& model) {
  silicon = model;
  for (Held& unit : units) unit.valid = false;
  handle(SIGILL, on_illegal);
  handle(SIGTRAP, on_trap);
  is_there = true;
}

void remove() {
  if (Byte* const place = popf_place.exchange(nullptr)) *place = kPopf;
  signal(SIGILL, SIG_DFL);
  is_there = false;  // threads may still be in single steps: they end in on_trap()
}

Counts counts() {
  return {counted.xcrypts.load(), counted.blocks.load(), counted.reloads.load(), counted.stale_keys.load()};
}

void reset_counts() { counted.xcrypts = counted.blocks = counted.reloads = counted.stale_keys = 0; }

}  // namespace nbdcrypt::test::padlock
