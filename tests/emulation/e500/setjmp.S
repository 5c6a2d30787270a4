/* SPDX-License-Identifier: Apache-2.0
 *
 * setjmp() and longjmp() without floating-point registers, in the place of those of a static glibc: it calls setjmp() where a
 * thread starts, with all signals blocked, so float.cpp cannot help there. Saves r13-r31 in all their 64 bits, and no signal
 * mask. For tests: nothing here leaves a thread by pthread_exit() or cancellation.
 * jmp_buf: lr, cr, r1, r2, and from the next multiple of 8 on r13-r31; 172 bytes of glibc's 448.
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
        addi    4, 3, 16 + 7
        rlwinm  4, 4, 0, 0, 28
        .irp    register, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
        evstdd  \register, (\register - 13) * 8(4)
        .endr
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
        addi    5, 3, 16 + 7
        rlwinm  5, 5, 0, 0, 28
        .irp    register, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
        evldd   \register, (\register - 13) * 8(5)
        .endr
        mr.     3, 4
        bnelr
        li      3, 1
        blr

        .section .note.GNU-stack, "", @progbits
