// SPDX-License-Identifier: Apache-2.0
//
// The classic floating-point registers for programs on an e500v2, which has none: what a kernel with
// CONFIG_MATH_EMULATION does, as a handler of SIGILL in the program itself. Debian's powerpc libraries use them
// when an exception is thrown, in the hash tables of libstdc++ and in printf(). The arithmetic is done by the
// processor's own efd* instructions. For tests: no exception flags, fmadd rounds twice.
// Source: Power ISA 2.07, Book I, chapter 4 (encodings); SPE PEM, chapter 5 (efd*).
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

// double.S
extern "C" {
uint64_t e500_add(uint64_t a, uint64_t b);
uint64_t e500_subtract(uint64_t a, uint64_t b);
uint64_t e500_multiply(uint64_t a, uint64_t b);
uint64_t e500_divide(uint64_t a, uint64_t b);
bool e500_is_less(uint64_t a, uint64_t b);
bool e500_is_equal(uint64_t a, uint64_t b);
uint64_t e500_widen(uint32_t single);
uint32_t e500_narrow(uint64_t a);
uint32_t e500_to_integer(uint64_t a);
}

namespace {

thread_local uint64_t fpr[32], fpscr;  // doubles, as bits

constexpr uint64_t kSign = uint64_t{1} << 63;

uint64_t negate(uint64_t x) { return x ^ kSign; }

/// To single precision and back.
uint64_t rounded(uint64_t x) { return e500_widen(e500_narrow(x)); }

/// lfs, lfd, stfs, stfd in the order of their encodings.
void access(unsigned which, unsigned target, uint32_t address) {
  void* const at = reinterpret_cast<void*>(address);
  uint32_t word = 0;
  switch (which) {
    case 0:
      memcpy(&word, at, sizeof word);
      fpr[target] = e500_widen(word);
      break;
    case 1:
      memcpy(&fpr[target], at, sizeof fpr[target]);
      break;
    case 2:
      word = e500_narrow(fpr[target]);
      memcpy(at, &word, sizeof word);
      break;
    case 3:
      memcpy(at, &fpr[target], sizeof fpr[target]);
      break;
  }
}

/// The A form: a op b, a * c, a * c op b.
bool arithmetic(unsigned opcode, uint64_t a, uint64_t b, uint64_t c, uint64_t& result) {
  switch (opcode) {
    case 18:
      result = e500_divide(a, b);
      return true;
    case 20:
      result = e500_subtract(a, b);
      return true;
    case 21:
      result = e500_add(a, b);
      return true;
    case 25:
      result = e500_multiply(a, c);
      return true;
    case 28:
      result = e500_subtract(e500_multiply(a, c), b);
      return true;
    case 29:
      result = e500_add(e500_multiply(a, c), b);
      return true;
    case 30:
      result = negate(e500_subtract(e500_multiply(a, c), b));
      return true;
    case 31:
      result = negate(e500_add(e500_multiply(a, c), b));
      return true;
  }
  return false;
}

/// The X form of opcode 63: compare, convert, move.
bool move(unsigned opcode, unsigned target, uint64_t a, uint64_t b, unsigned long& cr) {
  switch (opcode) {
    case 0:  // fcmpu, fcmpo
    case 32: {
      const unsigned long is = e500_is_less(a, b) ? 8 : e500_is_less(b, a) ? 4 : e500_is_equal(a, b) ? 2 : 1;
      const unsigned shift = 28 - 4 * (target >> 2);
      cr = (cr & ~(15ul << shift)) | is << shift;
      return true;
    }
    case 12:  // frsp
      fpr[target] = rounded(b);
      return true;
    case 14:  // fctiw, which none of them uses with another rounding than towards zero; fctiwz
    case 15:
      fpr[target] = e500_to_integer(b);
      return true;
    case 40:  // fneg, fmr, fnabs, fabs
      fpr[target] = negate(b);
      return true;
    case 72:
      fpr[target] = b;
      return true;
    case 136:
      fpr[target] = b | kSign;
      return true;
    case 264:
      fpr[target] = b & ~kSign;
      return true;
    case 583:  // mffs, mtfsf
      fpr[target] = fpscr;
      return true;
    case 711:
      fpscr = b;
      return true;
    case 38:  // mtfsb1, mtfsb0, mtfsfi: rounding modes
    case 70:
    case 134:
      return true;
  }
  return false;
}

/// Carries out one instruction. `r`: the registers of the signal frame. False when it is not one of these.
bool emulate(uint32_t instruction, unsigned long* r) {
  const unsigned opcode = instruction >> 26, extended = instruction >> 1 & 1023;
  const unsigned t = instruction >> 21 & 31, a = instruction >> 16 & 31, b = instruction >> 11 & 31;
  const unsigned long base = a ? r[a] : 0;
  if (opcode >= 48 && opcode <= 55) {  // lfs to stfdu
    const uint32_t address = base + static_cast<int16_t>(instruction);
    access(opcode >> 1 & 3, t, address);
    if (opcode & 1) r[a] = address;
    return true;
  }
  if (opcode == 31) {
    if (extended != 535 && extended != 599 && extended != 663 && extended != 727) return false;
    access((extended - 535) / 64, t, base + r[b]);  // lfsx, lfdx, stfsx, stfdx
    return true;
  }
  if (opcode != 59 && opcode != 63) return false;
  uint64_t result;
  if (arithmetic(instruction >> 1 & 31, fpr[a], fpr[b], fpr[instruction >> 6 & 31], result)) {
    fpr[t] = opcode == 59 ? rounded(result) : result;
    return true;
  }
  return opcode == 63 && move(extended, t, fpr[a], fpr[b], r[38]);
}

void on_illegal_instruction(int, siginfo_t*, void* context) {
  unsigned long* const r = static_cast<ucontext_t*>(context)->uc_mcontext.uc_regs->gregs;
  uint32_t instruction;
  memcpy(&instruction, reinterpret_cast<void*>(r[32]), sizeof instruction);
  if (emulate(instruction, r)) {
    r[32] += 4;
  } else {
    signal(SIGILL, SIG_DFL);  // and comes back to the same instruction
  }
}

[[gnu::constructor(101)]] void install() {
  struct sigaction action = {};
  action.sa_sigaction = on_illegal_instruction;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  sigaction(SIGILL, &action, nullptr);
}

}  // namespace
