# SPDX-License-Identifier: Apache-2.0
#
# The counter is a plugin of the emulator, so it is built for the machine that builds. NBDCRYPT_ICOUNT is its file.
find_program(HOST_CC NAMES gcc cc REQUIRED NO_CMAKE_FIND_ROOT_PATH)
set(NBDCRYPT_ICOUNT ${PROJECT_BINARY_DIR}/lib/libicount.so CACHE INTERNAL "")
set(source ${CMAKE_CURRENT_LIST_DIR}/icount.c)
add_custom_command(OUTPUT ${NBDCRYPT_ICOUNT} DEPENDS ${source} ${CMAKE_CURRENT_LIST_DIR}/region.h
  COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/lib
  COMMAND ${HOST_CC} -O2 -Wall -Wextra -Werror -fPIC -shared -fvisibility=hidden ${source} -o ${NBDCRYPT_ICOUNT})
add_custom_target(icount ALL DEPENDS ${NBDCRYPT_ICOUNT})

if(BUILD_TESTING)
  set(emulator ${CMAKE_CROSSCOMPILING_EMULATOR})
  if(NOT emulator)
    set(emulator qemu-i386 -cpu max)  # what runs here by itself has to be emulated to be counted
  endif()
  add_test(NAME accelerators-reach-their-goals COMMAND ${emulator}
    -plugin ${NBDCRYPT_ICOUNT},out=${PROJECT_BINARY_DIR}/icount.txt
    $<TARGET_FILE:nbdcrypt-accelerators> --counts ${PROJECT_BINARY_DIR}/icount.txt --check)
  set_tests_properties(accelerators-reach-their-goals PROPERTIES LABELS unit TIMEOUT 300)
endif()
