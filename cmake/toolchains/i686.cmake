# SPDX-License-Identifier: Apache-2.0
#
# 32-bit x86, which a 64-bit x86 kernel runs without an emulator.
include(${CMAKE_CURRENT_LIST_DIR}/cross.cmake)
nbdcrypt_cross(PROCESSOR i686 TRIPLET i686-linux-gnu)
if(NOT CMAKE_HOST_SYSTEM_PROCESSOR MATCHES "^(x86_64|i.86)$")
  set(CMAKE_CROSSCOMPILING_EMULATOR qemu-i386 -cpu max)
endif()
