# SPDX-License-Identifier: Apache-2.0
#
# embed_vectors(target NAME...)
#   Writes a source with the text of tests/vectors/NAME.vec as the constant that bench/tables/selftest_vectors.h declares, and gives
#   it to `target`.
function(embed_vectors target)
  set(source ${CMAKE_CURRENT_BINARY_DIR}/selftest_vectors.cpp)
  set(text "#include \"bench/tables/selftest_vectors.h\"\nnamespace nbdcrypt::bench::vectors {\n")
  foreach(name IN LISTS ARGN)
    set(file ${PROJECT_SOURCE_DIR}/tests/vectors/${name}.vec)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    file(READ ${file} content)
    string(REPLACE "-" "_" symbol ${name})
    string(APPEND text "const char* const ${symbol} = R\"vec(${content})vec\";\n")
  endforeach()
  string(APPEND text "}\n")
  file(CONFIGURE OUTPUT ${source} CONTENT "${text}" @ONLY)
  target_sources(${target} PRIVATE ${source})
endfunction()
