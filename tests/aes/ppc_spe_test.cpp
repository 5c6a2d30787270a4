// SPDX-License-Identifier: Apache-2.0
//
// What is particular to registers of 64 bits in a world of 32: who calls the kernels and what interrupts them must not
// notice, nor must they.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/time.h>
#include <ucontext.h>

#include <algorithm>
#include <cstring>

#include "aes/cpu.h"
#include "aes/registry.h"
#include "tests/aes/support.h"

extern "C" {
// ppc_spe_registers.S
void spe_call(nbdcrypt::aes::Kernel f, const nbdcrypt::aes::Key* key, const nbdcrypt::aes::Run* run,
              const std::uint64_t in[18], std::uint64_t out[18]);
void spe_clobber();
void spe_load_misaligned(const void* at);
// aes/ppc_spe.S
extern const char nbdcrypt_spe_code[], nbdcrypt_spe_code_end[];
}

namespace nbdcrypt::test {
namespace {

/// Whether or not it runs here.
const aes::Backend& ppc_spe() {
  const auto named = [](const aes::Backend* backend) { return std::strcmp(backend->name, "ppc-spe") == 0; };
  return **std::find_if(aes::built().begin(), aes::built().end(), named);
}

class PpcSpe : public testing::Test {
 protected:
  void SetUp() override {
    if (!aes::runs_here(ppc_spe())) GTEST_SKIP() << "no SPE here";
  }
};

TEST_F(PpcSpe, KeepsAllSixtyFourBitsOfItsCallersRegisters) {
  for (const aes::Op op : offloaded(ppc_spe())) {
    const aes::Key key = test_key(ppc_spe(), 32);
    const Expected& e = expected(op, 32, 512);
    Bytes out(512 * 3), iv = e.iv_in;
    const aes::Run run{e.in.data(), out.data(), iv.data(), 512, 3};
    std::uint64_t before[18], after[18] = {};
    for (std::uint64_t i = 0; i < 18; i++) before[i] = 0x0123456789abcdef * (2 * i + 1);
    spe_call(ppc_spe().offload.of[op], &key, &run, before, after);
    for (std::size_t i = 0; i < 18; i++) EXPECT_EQ(before[i], after[i]) << op_name(op) << " r" << 14 + i;
    EXPECT_EQ(0, std::memcmp(out.data(), e.out.data(), out.size())) << op_name(op);
  }
}

volatile sig_atomic_t interruptions;  // of the kernels' own code

void on_alarm(int, siginfo_t*, void* context) {
  const unsigned long at = static_cast<ucontext_t*>(context)->uc_mcontext.uc_regs->gregs[32];
  const auto begin = reinterpret_cast<unsigned long>(nbdcrypt_spe_code);
  if (at >= begin && at < reinterpret_cast<unsigned long>(nbdcrypt_spe_code_end)) interruptions = interruptions + 1;
  spe_clobber();
}

TEST_F(PpcSpe, ASignalHandlerThatUsesTheRegistersChangesNothing) {
  struct sigaction action = {}, old = {};
  action.sa_sigaction = on_alarm;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  ASSERT_EQ(0, sigaction(SIGALRM, &action, &old));
  const itimerval often = {{0, 100}, {0, 100}}, never = {};
  for (const aes::Op op : offloaded(ppc_spe())) {
    const aes::Key key = test_key(ppc_spe(), 32);
    const Expected& e = expected(op, 32, 4096);
    interruptions = 0;
    int runs = 0;
    setitimer(ITIMER_REAL, &often, nullptr);
    for (; interruptions < 30 && runs < 5000; runs++) {
      Bytes out(e.in.size()), iv = e.iv_in;
      ppc_spe().offload.of[op](key, {e.in.data(), out.data(), iv.data(), 4096, kMaxCount});
      if (out != e.out || (op > aes::ecb_dec && iv != e.iv_out)) {
        ADD_FAILURE() << op_name(op) << " differs in run " << runs;
        break;
      }
    }
    setitimer(ITIMER_REAL, &never, nullptr);
    EXPECT_GE(interruptions, 30) << op_name(op) << " in " << runs << " runs";
  }
  sigaction(SIGALRM, &old, nullptr);
}

TEST(PpcSpeElsewhere, IsNotDetectedAndIllegal) {
  if (aes::cpu::detect() & aes::cpu::spe) GTEST_SKIP() << "this processor has SPE";
  EXPECT_FALSE(aes::runs_here(ppc_spe()));
  EXPECT_EQ(nullptr, aes::by_name("ppc-spe"));
  aes::Key key;
  ppc_spe().expand_key(key, Bytes(16).data(), 16);
  Byte block[kBlockBytes] = {};
  EXPECT_EXIT(ppc_spe().encrypt(key, block, block, 1), testing::KilledBySignal(SIGILL), "");
}

/// CTest runs this under the counter, which must find one.
TEST(MisalignedSpeAccess, IsThereToBeFound) {
  if (!(aes::cpu::detect() & aes::cpu::spe)) GTEST_SKIP() << "no SPE here";
  alignas(8) const Byte bytes[16] = {};
  spe_load_misaligned(bytes);
}

}  // namespace
}  // namespace nbdcrypt::test
