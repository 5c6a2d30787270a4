# SPDX-License-Identifier: Apache-2.0
#
# Little-endian POWER with Debian's libraries for it, for the whole product: tests/emulation/ppc64el_sysroot.sh unpacks them.
include(${CMAKE_CURRENT_LIST_DIR}/cross.cmake)
set(CMAKE_SYSROOT ${CMAKE_CURRENT_LIST_DIR}/../../build-ppc64el-sysroot/sys)
cmake_path(NORMAL_PATH CMAKE_SYSROOT)
nbdcrypt_cross(PROCESSOR ppc64le TRIPLET powerpc64le-linux-gnu
  EMULATOR ${CMAKE_COMMAND} -E env QEMU_LD_PREFIX=${CMAKE_SYSROOT} qemu-ppc64le -cpu power8)
set(CMAKE_EXE_LINKER_FLAGS_INIT "")
set(CMAKE_FIND_ROOT_PATH ${CMAKE_SYSROOT})
set(CMAKE_LIBRARY_ARCHITECTURE powerpc64le-linux-gnu)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${CMAKE_SYSROOT})
set(ENV{PKG_CONFIG_LIBDIR} ${CMAKE_SYSROOT}/usr/lib/powerpc64le-linux-gnu/pkgconfig:${CMAKE_SYSROOT}/usr/share/pkgconfig)
