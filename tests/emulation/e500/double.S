/* SPDX-License-Identifier: Apache-2.0
 *
 * Doubles as integers of 64 bits, calculated with by the efd* instructions of an e500v2. A 64-bit argument comes in a pair of
 * registers, upper word first, and efd* wants it in one.
 */
        .machine e500
        .text

.macro function name, operation:vararg
        .globl  e500_\name
        .type   e500_\name, @function
e500_\name:
        evmergelo 9, 3, 4
        evmergelo 10, 5, 6
        \operation
.endm

.macro arithmetic name, instruction
        function \name, \instruction 9, 9, 10
        evmergehi 3, 9, 9
        mr      4, 9
        blr
.endm

.macro comparison name, instruction
        function \name, \instruction 0, 9, 10
        mfcr    3
        rlwinm  3, 3, 2, 31, 31         /* the second bit of cr0 */
        blr
.endm

        arithmetic add, efdadd
        arithmetic subtract, efdsub
        arithmetic multiply, efdmul
        arithmetic divide, efddiv
        comparison is_less, efdcmplt
        comparison is_equal, efdcmpeq

/* uint64_t e500_widen(uint32_t float) */
        .globl  e500_widen
        .type   e500_widen, @function
e500_widen:
        efdcfs  9, 3
        evmergehi 3, 9, 9
        mr      4, 9
        blr

/* uint32_t e500_narrow(uint64_t): the float */
        .globl  e500_narrow
        .type   e500_narrow, @function
e500_narrow:
        evmergelo 9, 3, 4
        efscfd  3, 9
        blr

/* uint32_t e500_to_integer(uint64_t): towards zero */
        .globl  e500_to_integer
        .type   e500_to_integer, @function
e500_to_integer:
        evmergelo 9, 3, 4
        efdctsiz 3, 9
        blr

        .section .note.GNU-stack, "", @progbits
