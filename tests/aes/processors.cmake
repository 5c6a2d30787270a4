# SPDX-License-Identifier: Apache-2.0
#
# The tests of backends once more on other processors of the target's family, each of which must choose the backend that it
# should. All of them run the same program: what is not there is found out when it runs.
function(aes_on processor best)
  add_test(NAME aes-on-${processor} COMMAND ${ARGN} -cpu ${processor} $<TARGET_FILE:test-aes>
    --gtest_filter=Registry.*:*KnownAnswers*:*Ghash*:*EqualsTheModelForEveryUnitAndCount*:PpcSpe*)
  set_tests_properties(aes-on-${processor} PROPERTIES LABELS unit TIMEOUT 900 ENVIRONMENT NBDCRYPT_TEST_BEST=${best})
endfunction()

if(NOT CMAKE_CROSSCOMPILING_EMULATOR)
  return()
endif()
list(GET CMAKE_CROSSCOMPILING_EMULATOR 0 emulator)
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "ppc64le")
  foreach(processor IN ITEMS power9 power10)
    aes_on(${processor} power8-vcrypto ${emulator})
  endforeach()
elseif(CMAKE_SYSTEM_PROCESSOR STREQUAL "ppc64")
  foreach(processor IN ITEMS power9 power10)
    aes_on(${processor} power8-vcrypto ${emulator})
  endforeach()
  foreach(processor IN ITEMS 970 power7)  # without vcrypto; the little-endian libraries do not run there
    aes_on(${processor} generic ${emulator})
  endforeach()
elseif(CMAKE_SYSTEM_PROCESSOR STREQUAL "ppc")
  foreach(processor IN ITEMS e500v2_v30 e500mc)  # ppc-spe is never chosen unnamed; the second has none
    aes_on(${processor} generic ${emulator})
  endforeach()
  function(spe_alignment name filter)
    string(JOIN "," command ${CMAKE_CROSSCOMPILING_EMULATOR})
    add_test(NAME ${name} COMMAND ${CMAKE_COMMAND} -DEMULATOR=${command} -DPLUGIN=${NBDCRYPT_ICOUNT}
      -DOUT=${CMAKE_CURRENT_BINARY_DIR}/${name}.txt -DPROGRAM=$<TARGET_FILE:test-aes> -DFILTER=${filter}
      -P ${CMAKE_CURRENT_SOURCE_DIR}/spe_alignment.cmake)
    set_tests_properties(${name} PROPERTIES LABELS unit TIMEOUT 900)
  endfunction()
  spe_alignment(spe-accesses-are-aligned *Blocks*ppc_spe:*KnownAnswers*ppc_spe:*TakesEveryAlignment*ppc_spe:*ContinuesAUnit*ppc_spe)
  spe_alignment(spe-misaligned-access-is-found MisalignedSpeAccess.*)
  set_tests_properties(spe-misaligned-access-is-found PROPERTIES PASS_REGULAR_EXPRESSION "misaligned 1\n")
elseif(CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
  foreach(processor IN ITEMS cortex-a53 cortex-a72 max)
    aes_on(${processor} armv8-ce ${emulator})
  endforeach()
endif()
