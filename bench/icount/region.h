/* SPDX-License-Identifier: Apache-2.0
 *
 * How a program tells the counter (icount.c) where a region begins and ends: by a system call that means nothing else,
 * as that is the same for every architecture. Without the counter it fails and does no harm:
 *   syscall(SYS_getpriority, ICOUNT_MAGIC, region, ends)
 */
#pragma once

#define ICOUNT_MAGIC 0x0AE5C0DEu
