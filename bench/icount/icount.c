/* SPDX-License-Identifier: Apache-2.0
 *
 * A plugin for QEMU's user mode that counts the guest's instructions, exactly and repeatably (one thread). Built with gcc alone:
 * Debian ships no qemu-plugin.h, so the few functions that are used are declared here; QEMU's plugin interface, version 1.
 *
 *   qemu-ARCH -plugin libicount.so,out=FILE[,trace=on][,spe=on] PROGRAM
 *
 * FILE gets a line "region ID COUNT TRACE" each time that the guest leaves a region (region.h), and "total COUNT" at its end.
 * TRACE is 0, or with trace=on a hash of the addresses of all instructions that the region executed and of all that they
 * accessed, in order: where it depends on a secret, others can observe the secret. With spe=on FILE ends with
 * "spe COUNT misaligned COUNT": the SPE instructions of a PowerPC, and how many of their accesses were not aligned as the
 * processor wants them (SPE PEM, 3.2: QEMU itself does not mind).
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "region.h"

#define EXPORT __attribute__((visibility("default")))

typedef uint64_t plugin_id;
struct block;
struct instruction;
enum { ADD_U64 = 0, NO_REGISTERS = 0, READS_AND_WRITES = 3 };

size_t qemu_plugin_tb_n_insns(const struct block *);
struct instruction *qemu_plugin_tb_get_insn(const struct block *, size_t);
const void *qemu_plugin_insn_data(const struct instruction *);
unsigned qemu_plugin_mem_size_shift(uint32_t access);
void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id, void (*)(plugin_id, struct block *));
void qemu_plugin_register_vcpu_insn_exec_inline(struct instruction *, int operation, void *counter, uint64_t by);
void qemu_plugin_register_vcpu_insn_exec_cb(struct instruction *, void (*)(unsigned, void *), int registers, void *data);
uint64_t qemu_plugin_insn_vaddr(const struct instruction *);
void qemu_plugin_register_vcpu_mem_cb(struct instruction *, void (*)(unsigned, uint32_t, uint64_t, void *), int registers,
                                      int kinds, void *data);
void qemu_plugin_register_vcpu_syscall_cb(plugin_id, void (*)(plugin_id, unsigned, int64_t, uint64_t, uint64_t, uint64_t,
                                                              uint64_t, uint64_t, uint64_t, uint64_t, uint64_t));
void qemu_plugin_register_atexit_cb(plugin_id, void (*)(plugin_id, void *), void *);

EXPORT int qemu_plugin_version = 1;

static FILE *out;
static uint64_t count, region_start;
static bool trace_on;
static uint64_t trace;
static bool count_spe;
static uint64_t spe_count, misaligned;

/* FNV-1a, by words */
static void add_to_trace(uint64_t address) { trace = (trace ^ address) * UINT64_C(0x100000001b3); }

static void on_traced_instruction(unsigned cpu, void *address) {
  (void)cpu;
  add_to_trace((uintptr_t)address);
}

static void on_traced_access(unsigned cpu, uint32_t access, uint64_t address, void *data) {
  (void)cpu, (void)data;
  add_to_trace(address ^ (uint64_t)qemu_plugin_mem_size_shift(access) << 60);
}

static void watch_trace(struct instruction *i) {
  void *const address = (void *)(uintptr_t)qemu_plugin_insn_vaddr(i);
  qemu_plugin_register_vcpu_insn_exec_cb(i, on_traced_instruction, NO_REGISTERS, address);
  qemu_plugin_register_vcpu_mem_cb(i, on_traced_access, NO_REGISTERS, READS_AND_WRITES, NULL);
}

/* An instruction of words or halfwords accesses memory several times; only the first time says where. `wanted` is the alignment. */
static void on_spe_access(unsigned cpu, uint32_t access, uint64_t address, void *wanted) {
  static uint64_t next;
  static void *of;
  (void)cpu;
  const bool continued = address == next && wanted == of && address % (uintptr_t)wanted != 0;
  next = address + (UINT64_C(1) << qemu_plugin_mem_size_shift(access)), of = wanted;
  if (!continued && address % (uintptr_t)wanted != 0) misaligned++;
}

/* Major opcode 4, minor 512 to 1535; loads and stores are 768 to 831, in pairs of indexed and immediate form. */
static void watch_spe(struct instruction *i) {
  const unsigned char *b = qemu_plugin_insn_data(i);
  const unsigned minor = (b[2] << 8 | b[3]) & 0x7ff;
  if (b[0] >> 2 != 4 || minor < 512 || minor >= 1536) return;
  qemu_plugin_register_vcpu_insn_exec_inline(i, ADD_U64, &spe_count, 1);
  if (minor < 768 || minor > 831) return;
  const unsigned form = (minor & 31) >> 1; /* 0-2: doublewords; 4, 6, 7: a halfword; else words */
  const uintptr_t wanted = form <= 2 ? 8 : form == 4 || form == 6 || form == 7 ? 2 : 4;
  qemu_plugin_register_vcpu_mem_cb(i, on_spe_access, NO_REGISTERS, READS_AND_WRITES, (void *)wanted);
}

static void on_translation(plugin_id id, struct block *block) {
  (void)id;
  const size_t instructions = qemu_plugin_tb_n_insns(block);
  for (size_t i = 0; i < instructions; i++) {
    struct instruction *const one = qemu_plugin_tb_get_insn(block, i);
    qemu_plugin_register_vcpu_insn_exec_inline(one, ADD_U64, &count, 1);
    if (trace_on) watch_trace(one);
    if (count_spe) watch_spe(one);
  }
}

static void on_syscall(plugin_id id, unsigned cpu, int64_t number, uint64_t magic, uint64_t region, uint64_t ends, uint64_t a4,
                       uint64_t a5, uint64_t a6, uint64_t a7, uint64_t a8) {
  (void)id, (void)cpu, (void)number, (void)a4, (void)a5, (void)a6, (void)a7, (void)a8;
  if ((uint32_t)magic != ICOUNT_MAGIC) return;
  if (ends) {
    fprintf(out, "region %u %llu %016llx\n", (unsigned)region, (unsigned long long)(count - region_start),
            (unsigned long long)trace);
    fflush(out);
  }
  region_start = count, trace = 0;
}

static void on_exit_of_guest(plugin_id id, void *data) {
  (void)id, (void)data;
  fprintf(out, "total %llu\n", (unsigned long long)count);
  if (count_spe) fprintf(out, "spe %llu misaligned %llu\n", (unsigned long long)spe_count, (unsigned long long)misaligned);
  fflush(out);
}

EXPORT int qemu_plugin_install(plugin_id id, const void *info, int argc, char **argv) {
  (void)info;
  out = stderr;
  for (int i = 0; i < argc; i++) {
    if (strncmp(argv[i], "out=", 4) == 0) {
      out = fopen(argv[i] + 4, "w");
    } else if (strcmp(argv[i], "trace=on") == 0) {
      trace_on = true;
    } else if (strcmp(argv[i], "spe=on") == 0) {
      count_spe = true;
    } else {
      fprintf(stderr, "icount: unknown option %s\n", argv[i]);
      return 1;
    }
  }
  if (!out) {
    perror("icount");
    return 1;
  }
  qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
  qemu_plugin_register_vcpu_syscall_cb(id, on_syscall);
  qemu_plugin_register_atexit_cb(id, on_exit_of_guest, NULL);
  return 0;
}
