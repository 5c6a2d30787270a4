# SPDX-License-Identifier: Apache-2.0
#
# nbdcrypt_cross(PROCESSOR processor TRIPLET triplet [FLAGS flag...] [EMULATOR command...])
#   What the toolchain files share: Debian's cross compiler for `triplet`, static programs (the emulators then need no sysroot),
#   and the emulator that CTest puts before each program that it runs.
macro(nbdcrypt_cross)
  cmake_parse_arguments(CROSS "" "PROCESSOR;TRIPLET" "FLAGS;EMULATOR" ${ARGN})
  set(CMAKE_SYSTEM_NAME Linux)
  set(CMAKE_SYSTEM_PROCESSOR ${CROSS_PROCESSOR})
  set(CMAKE_C_COMPILER ${CROSS_TRIPLET}-gcc)
  set(CMAKE_CXX_COMPILER ${CROSS_TRIPLET}-g++)
  foreach(language IN ITEMS C CXX ASM)
    set(CMAKE_${language}_FLAGS_INIT "${CROSS_FLAGS}")
  endforeach()
  set(CMAKE_EXE_LINKER_FLAGS_INIT -static)
  set(CMAKE_CROSSCOMPILING_EMULATOR ${CROSS_EMULATOR})
  set(CMAKE_FIND_ROOT_PATH /usr/${CROSS_TRIPLET})
  set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
  foreach(kind IN ITEMS LIBRARY INCLUDE PACKAGE)
    set(CMAKE_FIND_ROOT_PATH_MODE_${kind} ONLY)
  endforeach()
endmacro()
