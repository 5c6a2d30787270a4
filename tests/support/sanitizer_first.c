// SPDX-License-Identifier: Apache-2.0
//
// Preloaded into nbdkit beside a sanitizer, and initialized before everything else (-z initfirst): the first allocation
// starts AddressSanitizer of GCC 12, which asks for a translated message then. If that allocation is newlocale()'s, as in
// p11-kit, which nbdkit loads with GnuTLS, glibc's lock of the locales is left in a state in which the next to take it
// waits for ever.
#include <stdlib.h>

static void* volatile first;

__attribute__((constructor)) static void start_sanitizer(void) {
  first = malloc(1);
  free(first);
}
