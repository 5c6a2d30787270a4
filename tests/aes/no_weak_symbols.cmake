# SPDX-License-Identifier: Apache-2.0
#
# cmake -DNM=... -DARCHIVE=... -DSOURCES=a.cpp,b.cpp -P no_weak_symbols.cmake
#   Fails when the object of one of the sources in the archive is missing, or has a weak symbol: the linker keeps one copy of
#   such a symbol for the whole program, and that of a backend may have been compiled for a newer processor.
cmake_minimum_required(VERSION 3.25)
execute_process(COMMAND ${NM} ${ARCHIVE} OUTPUT_VARIABLE listing COMMAND_ERROR_IS_FATAL ANY)
string(REPLACE "\n" ";" lines "${listing}")
string(REPLACE "," ";" SOURCES "${SOURCES}")
set(member "")
set(found "")
set(weak "")
foreach(line IN LISTS lines)
  if(line MATCHES "^([^ ]+)\\.(o|obj):$")
    set(member ${CMAKE_MATCH_1})
    list(APPEND found ${member})
  elseif(member IN_LIST SOURCES AND line MATCHES " [WwVvu] ")
    string(APPEND weak "\n  ${member}: ${line}")
  endif()
endforeach()
foreach(source IN LISTS SOURCES)
  if(NOT source IN_LIST found)
    message(FATAL_ERROR "${ARCHIVE}: no object of ${source}")
  endif()
endforeach()
if(weak)
  message(FATAL_ERROR "weak symbols:${weak}")
endif()
