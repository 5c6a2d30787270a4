# SPDX-License-Identifier: Apache-2.0
#
# cmake -DEMULATOR=... -DPLUGIN=... -DOUT=... -DPROGRAM=... -DFILTER=... -P spe_alignment.cmake
#   Runs tests of the program under the instruction counter, and fails unless SPE instructions were executed and none of their
#   accesses was misaligned: the emulator would not mind, the processor traps.
cmake_minimum_required(VERSION 3.25)
string(REPLACE "," ";" EMULATOR "${EMULATOR}")
execute_process(COMMAND ${EMULATOR} -plugin ${PLUGIN},spe=on,out=${OUT} ${PROGRAM} --gtest_filter=${FILTER}
  OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
file(STRINGS ${OUT} line REGEX "^spe [0-9]+ misaligned [0-9]+$")
message(STATUS "${line}")
if(NOT line MATCHES "^spe [1-9][0-9]* misaligned 0$")
  message(FATAL_ERROR "SPE instructions and misaligned accesses: ${line}")
endif()
