// SPDX-License-Identifier: Apache-2.0
#include "tests/emulation/padlock/instruction.h"

namespace nbdcrypt::test::padlock {
namespace {

template <int kOpcode>
After run(Context& context, const Byte* in, Byte* out, std::size_t blocks) {
  After after{context.iv, in, out, blocks};
  asm volatile(".byte 0xf3, 0x0f, 0xa7, %c[opcode]"
               : "+a"(after.iv), "+S"(after.in), "+D"(after.out), "+c"(after.blocks)
               : "d"(context.control), "b"(context.key), [opcode] "i"(kOpcode)
               : "memory", "cc");
  return after;
}

}  // namespace

After xcrypt(Xcrypt mode, Context& context, const Byte* in, Byte* out, std::size_t blocks) {
  switch (mode) {
    case Xcrypt::ecb:
      return run<0xc8>(context, in, out, blocks);
    case Xcrypt::cbc:
      return run<0xd0>(context, in, out, blocks);
    case Xcrypt::ctr:
      return run<0xd8>(context, in, out, blocks);
    case Xcrypt::cfb:
      return run<0xe0>(context, in, out, blocks);
    case Xcrypt::ofb:
      break;
  }
  return run<0xe8>(context, in, out, blocks);
}

// A call of its own, so that nothing of a caller's lies where the flags are pushed.
[[gnu::noinline]] void reload() {
#ifdef __x86_64__
  asm volatile("sub $128, %%rsp\n\tpushf\n\tpopf\n\tadd $128, %%rsp" ::: "memory", "cc");
#else
  asm volatile("pushf\n\tpopf" ::: "memory", "cc");
#endif
}

}  // namespace nbdcrypt::test::padlock
