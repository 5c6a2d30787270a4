# SPDX-License-Identifier: Apache-2.0
#
# e500v2: PowerPC with SPE and without the classic floating-point registers. -mcpu=8548 is its integer code; Debian's libraries
# for powerpc use those registers all the same, which tests/emulation/e500 provides as a kernel with CONFIG_MATH_EMULATION does.
include(${CMAKE_CURRENT_LIST_DIR}/cross.cmake)
nbdcrypt_cross(PROCESSOR ppc TRIPLET powerpc-linux-gnu FLAGS -mcpu=8548 EMULATOR qemu-ppc -cpu e500v2)
set(CMAKE_PROJECT_nbdcrypt_INCLUDE ${CMAKE_CURRENT_LIST_DIR}/../../tests/emulation/e500/runtime.cmake)
set(CMAKE_CXX_STANDARD_LIBRARIES_INIT -latomic)  # 64-bit counters on a 32-bit processor
