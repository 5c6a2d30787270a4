# SPDX-License-Identifier: Apache-2.0
#
# Big-endian POWER. The compiler's baseline is older than POWER7, so the same programs run on processors without vcrypto.
include(${CMAKE_CURRENT_LIST_DIR}/cross.cmake)
nbdcrypt_cross(PROCESSOR ppc64 TRIPLET powerpc64-linux-gnu EMULATOR qemu-ppc64 -cpu power8)
