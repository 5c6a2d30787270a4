/* SPDX-License-Identifier: Apache-2.0
 *
 * setjmp() and longjmp() without floating-point registers, in the place of those of a static glibc: it calls setjmp() where a
 * thread starts, with all signals blocked, so float.cpp cannot help there. As in glibc the upper halves of the registers are
 * not saved, so that processors without SPE get as far; no signal mask. For tests: nothing here leaves a thread by
 * pthread_exit() or cancellation, or jumps over an SPE function.
 * jmp_buf: lr, cr, r1, r2, r13-r31.
 */
        .machine e500
        .text

        .globl  setjmp, _setjmp, __sigsetjmp
        .type   setjmp, @function
setjmp:
_setjmp:
__sigsetjmp:
        mflr    0
        stw     0, 0(3)
        mfcr    0
        stw     0, 4(3)
        stw     1, 8(3)
        stw     2, 12(3)
        stmw    13, 16(3)
        li      3, 0
        blr

        .globl  longjmp, _longjmp, siglongjmp
        .type   longjmp, @function
longjmp:
_longjmp:
siglongjmp:
        lwz     0, 0(3)
        mtlr    0
        lwz     0, 4(3)
        mtcrf   0x38, 0                 /* cr2-cr4, which calls preserve */
        lwz     1, 8(3)
        lwz     2, 12(3)
        lmw     13, 16(3)
        mr.     3, 4
        bnelr
        li      3, 1
        blr

        .section .note.GNU-stack, "", @progbits
