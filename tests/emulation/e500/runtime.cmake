# SPDX-License-Identifier: Apache-2.0
#
# Adds to every program of the build what Debian's powerpc libraries need on an e500v2 (the toolchain file includes this).
set(here ${CMAKE_CURRENT_LIST_DIR})
add_library(e500-runtime OBJECT ${here}/float.cpp ${here}/double.S ${here}/setjmp.S)
target_compile_features(e500-runtime PRIVATE cxx_std_20)
target_compile_options(e500-runtime PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-O2 -Wall -Wextra -Werror -fno-exceptions -fno-rtti>)
link_libraries($<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:$<TARGET_OBJECTS:e500-runtime>>)
