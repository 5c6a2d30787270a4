// SPDX-License-Identifier: Apache-2.0
#include "tests/volume/allocations.h"

#include <cstdlib>
#include <new>

namespace {

thread_local long count = 0;

}  // namespace

long nbdcrypt::test::allocations() noexcept { return count; }

void* operator new(std::size_t bytes) {
  ++count;
  if (void* at = std::malloc(bytes == 0 ? 1 : bytes)) return at;
  throw std::bad_alloc();
}
void operator delete(void* at) noexcept { std::free(at); }
void operator delete(void* at, std::size_t) noexcept { std::free(at); }
