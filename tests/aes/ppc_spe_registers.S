/* SPDX-License-Identifier: Apache-2.0 */
        .machine e500
        .text

/* void spe_call(r3 f, r4 a, r5 b, r6 in, r7 out): f(a, b) with r14-r31 as in in[18]; what they are behind it to out[18] */
        .globl  spe_call
        .type   spe_call, @function
spe_call:
        mflr    0
        stwu    1, -176(1)
        stw     0, 180(1)
        .irp    n, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
        evstdd  \n, (16 + 8 * (\n - 14))(1)
        evldd   \n, (8 * (\n - 14))(6)
        .endr
        stw     7, 160(1)
        mtctr   3
        mr      3, 4
        mr      4, 5
        bctrl
        lwz     7, 160(1)
        .irp    n, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
        evstdd  \n, (8 * (\n - 14))(7)
        evldd   \n, (16 + 8 * (\n - 14))(1)
        .endr
        lwz     0, 180(1)
        mtlr    0
        addi    1, 1, 176
        blr

/* Other values into the upper halves of all registers and into the accumulator; keeps what a call of 32-bit code keeps. */
        .globl  spe_clobber
        .type   spe_clobber, @function
spe_clobber:
        lis     4, 0x5a5a
        ori     4, 4, 0xa5a5
        .irp    n, 0, 3, 5, 6, 7, 8, 9, 10, 11, 12
        evmergelo \n, 4, 4
        .endr
        .irp    n, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
        evmergelo \n, 4, \n
        .endr
        evmra   4, 4
        blr

/* An evldd one byte off, for the counter of misaligned accesses to find. r3: at least 16 bytes at a multiple of 8 */
        .globl  spe_load_misaligned
        .type   spe_load_misaligned, @function
spe_load_misaligned:
        addi    3, 3, 1
        evldd   4, 0(3)
        blr

        .section .note.GNU-stack, "", @progbits
