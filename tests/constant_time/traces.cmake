# SPDX-License-Identifier: Apache-2.0
#
# Constant time on processors that are emulated: the emulator's instruction counter compares traces (traces_main.cpp).
add_executable(trace-check traces_main.cpp ${PROJECT_SOURCE_DIR}/bench/accelerators/counter.cpp)
target_link_libraries(trace-check PRIVATE nbdcrypt-modes)
set(emulator ${CMAKE_CROSSCOMPILING_EMULATOR})
if(NOT emulator)
  set(emulator qemu-i386 -cpu max)
endif()

function(add_trace_test name backend pattern)
  set(counts ${CMAKE_CURRENT_BINARY_DIR}/traces-${name}.txt)
  add_test(NAME traces-${name} COMMAND ${emulator} -plugin ${NBDCRYPT_ICOUNT},trace=on,out=${counts}
    $<TARGET_FILE:trace-check> --counts ${counts} ${backend})
  set_tests_properties(traces-${name} PROPERTIES LABELS unit TIMEOUT 900 PASS_REGULAR_EXPRESSION "${pattern}")
endfunction()

set(backends generic)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^ppc64")
  list(APPEND backends power8-vcrypto)
elseif(CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
  list(APPEND backends armv8-ce)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^i.86$")
  list(APPEND backends x86-aesni x86-ssse3)
endif()
foreach(backend IN LISTS backends)
  add_trace_test(${backend} ${backend} "functions, [0-9]+ instructions, 0 differ")
endforeach()
# The check itself must find what it looks for.
add_trace_test(finds-table table "ecb_enc 128: what is executed or accessed depends on a secret.*xts_dec 256: what")
add_trace_test(finds-a-branch planted "planted: what is executed or accessed depends on a secret")
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "ppc")
  add_trace_test(finds-ppc-spe ppc-spe "ecb_enc 128: what is executed or accessed depends on a secret")  # known: by name only
endif()
