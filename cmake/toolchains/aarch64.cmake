# SPDX-License-Identifier: Apache-2.0
include(${CMAKE_CURRENT_LIST_DIR}/cross.cmake)
nbdcrypt_cross(PROCESSOR aarch64 TRIPLET aarch64-linux-gnu EMULATOR qemu-aarch64 -cpu cortex-a57)
