// SPDX-License-Identifier: Apache-2.0
//
// The S-box of AES and its inverse as circuits of XOR and AND over eight words, q[i] holding bit i of every byte:
// constant time, no tables. Both leave out the constant 0x63 (FIPS 197, 5.1.1): the caller adds it to round keys, where
// it is free.
//
// Forward and nonlinear part: J. Boyar and R. Peralta, "A small depth-16 circuit for the AES S-box", eprint 2011/332:
// 23 XORs lead to 22 linear forms, 62 gates invert in GF(2^8), 30 XORs lead back. The inverse box keeps the nonlinear
// part; its forms are those of the forward box composed with the inverse affine map (23 XORs in, 35 out), and the two
// linear maps were minimised anew by the greedy method of the same authors (eprint 2009/191).
#pragma once

namespace nbdcrypt::aes {
namespace {

/// The linear forms that the nonlinear part starts from, in the numbering of the paper; y[0] is its U7.
template <class W>
struct Forms {
  W y[22];
};

/// The products that it ends in: M46 to M63 of the paper.
template <class W>
struct Products {
  W z[18];
};

/// Inversion in GF(2^8) through GF(2^4).
template <class W>
[[gnu::always_inline]] inline void invert(const Forms<W>& f, Products<W>& p) noexcept {
  const W* const y = f.y;
  W* const z = p.z;
  const W t2 = y[12] & y[15], t4 = (y[3] & y[6]) ^ t2, t6 = (y[4] & y[0]) ^ t2;
  const W t7 = y[13] & y[16], t9 = (y[5] & y[1]) ^ t7, t11 = (y[2] & y[7]) ^ t7;
  const W t12 = y[9] & y[11], t14 = (y[14] & y[17]) ^ t12, t16 = (y[8] & y[10]) ^ t12;
  const W t21 = t4 ^ t14 ^ y[20], t22 = t6 ^ t16 ^ y[19], t23 = t9 ^ t14 ^ y[21], t24 = t11 ^ t16 ^ y[18];
  const W t25 = t21 ^ t22, t26 = t21 & t23, t27 = t24 ^ t26, t29 = (t25 & t27) ^ t22;
  const W t30 = t23 ^ t24, t31 = t22 ^ t26, t33 = (t31 & t30) ^ t24;
  const W t34 = t23 ^ t33, t35 = t27 ^ t33, t36 = t24 & t35, t37 = t36 ^ t34, t38 = t27 ^ t36;
  const W t40 = t25 ^ (t29 & t38), t41 = t40 ^ t37, t42 = t29 ^ t33, t43 = t29 ^ t40, t44 = t33 ^ t37, t45 = t42 ^ t41;
  z[0] = t44 & y[15], z[1] = t37 & y[6], z[2] = t33 & y[0], z[3] = t43 & y[16], z[4] = t40 & y[1];
  z[5] = t29 & y[7], z[6] = t42 & y[11], z[7] = t45 & y[17], z[8] = t41 & y[10], z[9] = t44 & y[12];
  z[10] = t37 & y[3], z[11] = t33 & y[4], z[12] = t43 & y[13], z[13] = t40 & y[5], z[14] = t29 & y[2];
  z[15] = t42 & y[9], z[16] = t45 & y[14], z[17] = t41 & y[8];
}

/// S(q) ^ 0x63 for every byte.
template <class W>
[[gnu::always_inline]] inline void sub_bytes(W* q) noexcept {
  const W x0 = q[7], x1 = q[6], x2 = q[5], x3 = q[4], x4 = q[3], x5 = q[2], x6 = q[1], x7 = q[0];
  Forms<W> f;
  W* const y = f.y;
  y[0] = x7, y[14] = x3 ^ x5, y[13] = x0 ^ x6, y[9] = x0 ^ x3, y[8] = x0 ^ x5;
  const W u0 = x1 ^ x2;
  y[1] = u0 ^ x7, y[4] = y[1] ^ x3, y[12] = y[13] ^ y[14], y[2] = y[1] ^ x0, y[5] = y[1] ^ x6, y[3] = y[5] ^ y[8];
  const W u1 = x4 ^ y[12];
  y[15] = u1 ^ x5, y[20] = u1 ^ x1, y[6] = y[15] ^ x7, y[10] = y[15] ^ u0, y[11] = y[20] ^ y[9];
  y[7] = x7 ^ y[11], y[17] = y[10] ^ y[11], y[19] = y[10] ^ y[8], y[16] = u0 ^ y[11], y[21] = y[13] ^ y[16];
  y[18] = x0 ^ y[16];

  Products<W> p;
  invert(f, p);
  const W* const z = p.z;

  const W t46 = z[15] ^ z[16], t47 = z[10] ^ z[11], t48 = z[5] ^ z[13], t49 = z[9] ^ z[10], t50 = z[2] ^ z[12];
  const W t51 = z[2] ^ z[5], t52 = z[7] ^ z[8], t53 = z[0] ^ z[3], t54 = z[6] ^ z[7], t55 = z[16] ^ z[17];
  const W t56 = z[12] ^ t48, t57 = t50 ^ t53, t58 = z[4] ^ t46, t59 = z[3] ^ t54, t60 = t46 ^ t57, t61 = z[14] ^ t57;
  const W t62 = t52 ^ t58, t63 = t49 ^ t58, t64 = z[4] ^ t59, t65 = t61 ^ t62, t66 = z[1] ^ t63, t67 = t64 ^ t65;
  const W s3 = t53 ^ t66;
  q[7] = t59 ^ t63, q[6] = t64 ^ s3, q[5] = t55 ^ t67, q[4] = s3;
  q[3] = t51 ^ t66, q[2] = t47 ^ t65, q[1] = t56 ^ t62, q[0] = t48 ^ t60;
}

/// The inverse of S at q ^ 0x63, for every byte.
template <class W>
[[gnu::always_inline]] inline void inv_sub_bytes(W* q) noexcept {
  const W x0 = q[7], x1 = q[6], x2 = q[5], x3 = q[4], x4 = q[3], x6 = q[1], x7 = q[0], x5 = q[2];
  Forms<W> f;
  W* const y = f.y;
  y[5] = x3 ^ x1, y[8] = x1 ^ x0, y[19] = x7 ^ x4, y[9] = x4 ^ x3, y[3] = x3 ^ x0;
  y[14] = y[8] ^ y[9], y[18] = x2 ^ y[9], y[10] = y[8] ^ y[19], y[6] = x1 ^ y[3], y[1] = y[10] ^ y[6];
  y[13] = x6 ^ y[1], y[2] = y[5] ^ y[13], y[4] = y[9] ^ y[2], y[12] = y[3] ^ y[4], y[7] = x2 ^ y[4];
  y[16] = y[1] ^ y[7], y[21] = x6 ^ y[7];
  const W u = x5 ^ y[13];
  y[20] = y[6] ^ u, y[11] = y[9] ^ y[20], y[17] = x7 ^ u, y[0] = y[7] ^ y[11], y[15] = y[16] ^ y[17];

  Products<W> p;
  invert(f, p);
  const W* const z = p.z;

  const W u0 = z[6] ^ z[15], u1 = z[13] ^ u0, u2 = z[12] ^ u1, u3 = z[8] ^ z[16], u4 = z[1] ^ z[4], u5 = z[2] ^ z[10];
  const W u6 = u2 ^ u3, u7 = z[3] ^ u4, u8 = z[14] ^ u5, u9 = z[11] ^ z[17], u10 = u7 ^ u8, u11 = z[7] ^ u2;
  const W u12 = z[4] ^ u11, u13 = z[0] ^ z[5], u14 = u4 ^ u6, u15 = z[3] ^ z[16], u16 = z[5] ^ u6, u17 = z[12] ^ u0;
  const W u18 = u10 ^ u17, u19 = u9 ^ u12, u20 = z[17] ^ u10, u21 = z[9] ^ u20, u22 = u5 ^ u19, u23 = z[0] ^ z[2];
  const W u24 = z[9] ^ z[15], u25 = u3 ^ u18, u26 = z[8] ^ u21;
  q[7] = z[3] ^ u16, q[6] = u1 ^ u26, q[5] = z[11] ^ u25, q[4] = u6 ^ u23;
  q[3] = u13 ^ u22, q[2] = u13 ^ u14, q[1] = u12 ^ u15, q[0] = u9 ^ u24;
}

}  // namespace
}  // namespace nbdcrypt::aes
