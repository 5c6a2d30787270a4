# SPDX-License-Identifier: Apache-2.0
# Compiler options that every target takes through the library nbdcrypt-options.
add_library(nbdcrypt-options INTERFACE)
target_include_directories(nbdcrypt-options INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_options(nbdcrypt-options INTERFACE
  -Wall -Wextra -Werror -Wshadow -Wconversion -Wno-sign-conversion -Wundef -Wvla
  $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor -Woverloaded-virtual>
  -fvisibility=hidden -fstack-protector-strong)
target_compile_definitions(nbdcrypt-options INTERFACE $<$<CONFIG:Release>:_FORTIFY_SOURCE=2>)
# All functions are bound when a program starts: the linker's late binding saves vector registers, which may hold keys, on the stack.
target_link_options(nbdcrypt-options INTERFACE -Wl,-z,relro,-z,now)
if(NBDCRYPT_SANITIZE)
  # Instrumented code of the standard library looks uninitialized or out of bounds to GCC 12 (std::regex, std::string).
  target_compile_options(nbdcrypt-options INTERFACE -fsanitize=${NBDCRYPT_SANITIZE} -fno-omit-frame-pointer
    -fno-sanitize-recover=all -Wno-maybe-uninitialized -Wno-array-bounds -Wno-restrict -Wno-stringop-overflow)
  target_link_options(nbdcrypt-options INTERFACE -fsanitize=${NBDCRYPT_SANITIZE})
endif()
