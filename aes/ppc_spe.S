/* SPDX-License-Identifier: Apache-2.0
 *
 * AES for the Signal Processing Engine of e500 processors. Its registers are the general ones, 64 bits wide: two columns of the
 * state lie in one, so that two lookups in the round tables are added by one evxor, and round keys are loaded by pairs.
 * A lookup for two columns is evlwwsplatx, which fills both halves, and lwzx, which replaces the lower; instructions of 32
 * bits leave the upper half alone. Data is read and written by words, at any alignment; evldd and evstdd, which want multiples
 * of 8, touch round keys and the stack alone. Addresses depend on key and data, as those of the table cipher do.
 * Source: Signal Processing Engine Programming Environments Manual (Freescale, SPEPEM), chapter 5; FIPS 197, 5.1 and 5.3.5.
 *
 * All functions: (r3 tables, r4 round keys in order of use, r5 rounds, r6 in, r7 out, r8 blocks > 0, r9 iv).
 * tables: four of 256 words, then the S-box of the last round; round keys at a multiple of 8.
 * in may equal out. iv is left as the batch contract wants it (backend.h).
 */
        .machine e500
        .text

#define T0      3       /* round tables, by row */
#define KEYS    4
#define Y       5
#define IN      6       /* at the last word that was read or written */
#define OUT     7
#define SBOX    8
#define LAST14  9       /* round keys so that the last one is at 224, whatever the number of rounds */
#define T1      10
#define T2      11
#define T3      12
#define X       0
#define A       14      /* pairs of columns: 0 and 1 in A or C, 2 and 3 in B or D; column 1 and 3 are the lower halves */
#define B       15
#define C       16
#define D       17
#define H0      18      /* column 0, from the upper half */
#define H2      19      /* column 2 */
#define TA      20
#define TB      21
#define L0      22
#define L1      23
#define L2      24
#define L3      25
#define P0      26      /* what a mode keeps between blocks */
#define P1      27
#define P2      28
#define P3      29

/* The block as it comes out of the core. It goes in as H0, C, H2, D, so a chain can be added column by column. */
#define O0      C
#define O1      D
#define O2      TA
#define O3      TB

#define FRAME           176
#define SAVED(n)        (16 + 8 * ((n) - 14))
#define SAVED_IV        160

/* One row of the state: the byte at \rotation of four columns, for the pairs \to0 and \to1. */
.macro  lookup table, rotation, high0, low0, high1, low1, to0, to1
        rlwinm  X, \high0, \rotation, 22, 29
        rlwinm  Y, \high1, \rotation, 22, 29
        evlwwsplatx TA, \table, X
        evlwwsplatx TB, \table, Y
        rlwinm  X, \low0, \rotation, 22, 29
        rlwinm  Y, \low1, \rotation, 22, 29
        lwzx    TA, \table, X
        lwzx    TB, \table, Y
        evxor   \to0, \to0, TA
        evxor   \to1, \to1, TB
.endm

/* From columns H0, \c1, H2, \c3 to the pairs \to0, \to1 and the columns in their upper halves. ShiftRows is the choice of columns. */
.macro  forward_round key, c1, c3, to0, to1
        evldd   \to0, \key(LAST14)
        evldd   \to1, \key + 8(LAST14)
        lookup  T0, 10, H0, \c1, H2, \c3, \to0, \to1
        lookup  T1, 18, \c1, H2, \c3, H0, \to0, \to1
        lookup  T2, 26, H2, \c3, H0, \c1, \to0, \to1
        lookup  T3, 2, \c3, H0, \c1, H2, \to0, \to1
        evmergehi H0, \to0, \to0
        evmergehi H2, \to1, \to1
.endm

.macro  inverse_round key, c1, c3, to0, to1
        evldd   \to0, \key(LAST14)
        evldd   \to1, \key + 8(LAST14)
        lookup  T0, 10, H0, \c1, H2, \c3, \to0, \to1
        lookup  T1, 18, \c3, H0, \c1, H2, \to0, \to1
        lookup  T2, 26, H2, \c3, H0, \c1, \to0, \to1
        lookup  T3, 2, \c1, H2, \c3, H0, \to0, \to1
        evmergehi H0, \to0, \to0
        evmergehi H2, \to1, \to1
.endm

/* One column of the last round, by the S-box alone. */
.macro  last_column to, key, row0, row1, row2, row3
        rlwinm  \to, \row3, 0, 24, 31
        rlwinm  X, \row2, 24, 24, 31
        lbzx    \to, SBOX, \to
        lbzx    X, SBOX, X
        rlwinm  Y, \row1, 16, 24, 31
        rlwimi  \to, X, 8, 16, 23
        lbzx    Y, SBOX, Y
        rlwinm  X, \row0, 8, 24, 31
        rlwimi  \to, Y, 16, 8, 15
        lbzx    X, SBOX, X
        lwz     Y, \key(LAST14)
        rlwimi  \to, X, 24, 0, 7
        xor     \to, \to, Y
.endm

/* The cipher on H0, C, H2, D, to which the first round key was added; to O0-O3. Changes X, Y, A, B, H0, H2. */
.macro  rounds round
        blt     6, 10f
        beq     6, 12f
        \round  16, C, D, A, B
        \round  32, A, B, C, D
12:     \round  48, C, D, A, B
        \round  64, A, B, C, D
10:     \round  80, C, D, A, B
        \round  96, A, B, C, D
        \round  112, C, D, A, B
        \round  128, A, B, C, D
        \round  144, C, D, A, B
        \round  160, A, B, C, D
        \round  176, C, D, A, B
        \round  192, A, B, C, D
        \round  208, C, D, A, B
.endm

        .globl  nbdcrypt_spe_code, nbdcrypt_spe_code_end
        .hidden nbdcrypt_spe_code, nbdcrypt_spe_code_end

        .p2align 5
nbdcrypt_spe_code:
forward:
        rounds  forward_round
        last_column O0, 224, H0, A, H2, B
        last_column O1, 228, A, H2, B, H0
        last_column O2, 232, H2, B, H0, A
        last_column O3, 236, B, H0, A, H2
        blr

        .p2align 5
inverse:
        rounds  inverse_round
        last_column O0, 224, H0, B, H2, A
        last_column O1, 228, A, H0, B, H2
        last_column O2, 232, H2, A, H0, B
        last_column O3, 236, B, H2, A, H0
        blr

/* Saves r14-r31 in all their 64 bits, as an SPE function has to, and sets up what the core wants. */
.macro  enter name
        .p2align 5
        .globl  \name
        .hidden \name
        .type   \name, @function
\name:
        .cfi_startproc
        mflr    0
        stwu    1, -FRAME(1)
        .cfi_def_cfa_offset FRAME
        stw     0, FRAME + 4(1)
        .cfi_offset lr, 4
        .irp    n, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
        evstdd  \n, SAVED(\n)(1)
        .endr
        stw     9, SAVED_IV(1)
        mtctr   8
        cmpwi   6, 5, 12
        slwi    LAST14, 5, 4
        add     LAST14, LAST14, KEYS
        addi    LAST14, LAST14, -224
        addi    T1, T0, 1024
        addi    T2, T0, 2048
        addi    T3, T0, 3072
        addi    SBOX, T0, 4096
        addi    IN, IN, -4
        addi    OUT, OUT, -4
.endm

.macro  leave name
        lwz     0, FRAME + 4(1)
        .irp    n, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
        evldd   \n, SAVED(\n)(1)
        .endr
        mtlr    0
        evxor   0, 0, 0                 /* X and Y held bytes of the state */
        evxor   5, 5, 5
        addi    1, 1, FRAME
        blr
        .cfi_endproc
        .size   \name, . - \name
.endm

.macro  load_input to0, to1, to2, to3
        lwz     \to0, 4(IN)
        lwz     \to1, 8(IN)
        lwz     \to2, 12(IN)
        lwzu    \to3, 16(IN)
.endm

.macro  store_output
        stw     O0, 4(OUT)
        stw     O1, 8(OUT)
        stw     O2, 12(OUT)
        stwu    O3, 16(OUT)
.endm

/* \to = \a ^ \b by columns */
.macro  add_columns to0, to1, to2, to3, a0, a1, a2, a3, b0, b1, b2, b3
        xor     \to0, \a0, \b0
        xor     \to1, \a1, \b1
        xor     \to2, \a2, \b2
        xor     \to3, \a3, \b3
.endm

/* The first round key is added to \a, which becomes the core's input. */
.macro  add_first_key a0, a1, a2, a3
        lwz     A, 0(KEYS)
        lwz     B, 4(KEYS)
        lwz     X, 8(KEYS)
        lwz     Y, 12(KEYS)
        add_columns H0, C, H2, D, \a0, \a1, \a2, \a3, A, B, X, Y
.endm

.macro  load_iv to0, to1, to2, to3
        lwz     Y, SAVED_IV(1)
        lwz     \to0, 0(Y)
        lwz     \to1, 4(Y)
        lwz     \to2, 8(Y)
        lwz     \to3, 12(Y)
.endm

.macro  store_iv from0, from1, from2, from3
        lwz     Y, SAVED_IV(1)
        stw     \from0, 0(Y)
        stw     \from1, 4(Y)
        stw     \from2, 8(Y)
        stw     \from3, 12(Y)
.endm

/* ---- ECB ---- */

.macro  ecb name, core
        enter   \name
1:      load_input H0, C, H2, D
        add_first_key H0, C, H2, D
        bl      \core
        store_output
        bdnz    1b
        leave   \name
.endm

        ecb     nbdcrypt_spe_ecb_encrypt, forward
        ecb     nbdcrypt_spe_ecb_decrypt, inverse

/* ---- CBC ---- */

        enter   nbdcrypt_spe_cbc_encrypt
        load_iv O0, O1, O2, O3
1:      lwz     H0, 4(IN)               /* the core's input is where its output was, but for a column each */
        xor     H0, H0, O0
        lwz     C, 8(IN)
        xor     C, C, O1
        lwz     H2, 12(IN)
        xor     H2, H2, O2
        lwzu    D, 16(IN)
        xor     D, D, O3
        add_first_key H0, C, H2, D
        bl      forward
        store_output
        bdnz    1b
        store_iv O0, O1, O2, O3
        leave   nbdcrypt_spe_cbc_encrypt

        enter   nbdcrypt_spe_cbc_decrypt
        load_iv P0, P1, P2, P3
1:      load_input H0, C, H2, D
        add_first_key H0, C, H2, D
        bl      inverse
        add_columns O0, O1, O2, O3, O0, O1, O2, O3, P0, P1, P2, P3
        lwz     P0, -12(IN)             /* before it is overwritten in place */
        lwz     P1, -8(IN)
        lwz     P2, -4(IN)
        lwz     P3, 0(IN)
        store_output
        bdnz    1b
        store_iv P0, P1, P2, P3
        leave   nbdcrypt_spe_cbc_decrypt

/* ---- CTR: \count adds one to the counter ---- */

.macro  count_32
        addi    P3, P3, 1
.endm

.macro  count_128
        addic   P3, P3, 1
        addze   P2, P2
        addze   P1, P1
        addze   P0, P0
.endm

.macro  counter_mode name, count
        enter   \name
        load_iv P0, P1, P2, P3
1:      add_first_key P0, P1, P2, P3
        bl      forward
        \count
        load_input A, B, X, Y
        add_columns O0, O1, O2, O3, O0, O1, O2, O3, A, B, X, Y
        store_output
        bdnz    1b
        store_iv P0, P1, P2, P3
        leave   \name
.endm

        counter_mode nbdcrypt_spe_ctr, count_128
        counter_mode nbdcrypt_spe_ctr32, count_32

/* ---- XTS: the tweak is added as P0-P3, in the byte order of memory, and doubled as L0-L3, the other way round ---- */

.macro  reverse_bytes to, from
        rotlwi  \to, \from, 8
        rlwimi  \to, \from, 24, 0, 7
        rlwimi  \to, \from, 24, 16, 23
.endm

.macro  double_tweak
        srawi   X, L3, 31
        andi.   X, X, 0x87              /* or 0: x^128 is x^7 + x^2 + x + 1 */
        addc    L0, L0, L0
        adde    L1, L1, L1
        adde    L2, L2, L2
        adde    L3, L3, L3
        xor     L0, L0, X
        reverse_bytes P0, L0
        reverse_bytes P1, L1
        reverse_bytes P2, L2
        reverse_bytes P3, L3
.endm

.macro  xts name, core
        enter   \name
        load_iv P0, P1, P2, P3
        reverse_bytes L0, P0
        reverse_bytes L1, P1
        reverse_bytes L2, P2
        reverse_bytes L3, P3
1:      load_input H0, C, H2, D
        add_columns H0, C, H2, D, H0, C, H2, D, P0, P1, P2, P3
        add_first_key H0, C, H2, D
        bl      \core
        add_columns O0, O1, O2, O3, O0, O1, O2, O3, P0, P1, P2, P3
        store_output
        double_tweak
        bdnz    1b
        store_iv P0, P1, P2, P3
        leave   \name
.endm

        xts     nbdcrypt_spe_xts_encrypt, forward
        xts     nbdcrypt_spe_xts_decrypt, inverse

nbdcrypt_spe_code_end:

        .section .note.GNU-stack, "", @progbits
