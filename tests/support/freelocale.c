// SPDX-License-Identifier: Apache-2.0
//
// Preloaded into nbdkit beside a sanitizer: with AddressSanitizer of GCC 12, strerror() leaves glibc's lock of the locales
// held, and p11-kit, which nbdkit loads with GnuTLS, waits for it for ever when it frees its locale at the very end.
#include <locale.h>

void freelocale(locale_t unused) { (void)unused; }
