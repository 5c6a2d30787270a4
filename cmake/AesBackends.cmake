# SPDX-License-Identifier: Apache-2.0
#
# add_aes_backend(NAME symbol ARCH regex [FLAGS flag...] [SOURCES file...])
#   Adds a backend whose object is `nbdcrypt::aes::symbol` where the target processor matches `regex`. Its sources alone are
#   compiled with FLAGS, and always without exceptions and RTTI, so that no weak symbol built for a newer processor can be
#   picked by the linker for everybody. The order of the calls is the order of preference.
# write_aes_registry(target)
#   Writes the table of the backends that were added and gives it to `target`.
set(NBDCRYPT_AES_BACKENDS "" CACHE INTERNAL "")
set(NBDCRYPT_AES_SOURCES "" CACHE INTERNAL "")

function(add_aes_backend symbol)
  cmake_parse_arguments(ARG "" "ARCH" "FLAGS;SOURCES" ${ARGN})
  if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "${ARG_ARCH}")
    return()
  endif()
  foreach(source IN LISTS ARG_SOURCES)
    set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS "-fno-exceptions;-fno-rtti;${ARG_FLAGS}")
  endforeach()
  set(NBDCRYPT_AES_BACKENDS ${NBDCRYPT_AES_BACKENDS} ${symbol} CACHE INTERNAL "")
  set(NBDCRYPT_AES_SOURCES ${NBDCRYPT_AES_SOURCES} ${ARG_SOURCES} CACHE INTERNAL "")
endfunction()

function(write_aes_registry target)
  set(declarations "")
  set(entries "")
  foreach(symbol IN LISTS NBDCRYPT_AES_BACKENDS)
    string(APPEND declarations "extern const Backend ${symbol};\n")
    string(APPEND entries "&${symbol}, ")
  endforeach()
  configure_file(${PROJECT_SOURCE_DIR}/cmake/aes_backends.cpp.in ${CMAKE_CURRENT_BINARY_DIR}/aes_backends.cpp @ONLY)
  target_sources(${target} PRIVATE ${NBDCRYPT_AES_SOURCES} ${CMAKE_CURRENT_BINARY_DIR}/aes_backends.cpp)
endfunction()
