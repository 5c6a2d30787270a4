# SPDX-License-Identifier: Apache-2.0
#
# Little-endian POWER; Debian's baseline for it is POWER8.
include(${CMAKE_CURRENT_LIST_DIR}/cross.cmake)
nbdcrypt_cross(PROCESSOR ppc64le TRIPLET powerpc64le-linux-gnu EMULATOR qemu-ppc64le -cpu power8)
