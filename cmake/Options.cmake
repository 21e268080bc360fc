# Compiler options of everything in this repository, as the target thalweg_options.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lib")
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lib")

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CCACHE_PROGRAM}")
endif()

add_library(thalweg_options INTERFACE)
# One binary for every node of a mixed cluster: x86-64-v2 here, wider vectors only where src/runtime/kernels/simd
# is compiled for them and chosen at run time (cmake/Library.cmake). Never -march=native.
target_compile_options(thalweg_options INTERFACE -march=x86-64-v2 -Wall -Wextra -Wpedantic -Wshadow)
if(THALWEG_WERROR)
  target_compile_options(thalweg_options INTERFACE -Werror)
endif()

set(thalweg_simd_optimisation -O3)
if(CMAKE_BUILD_TYPE STREQUAL "Debug")
  target_compile_definitions(thalweg_options INTERFACE _GLIBCXX_ASSERTIONS)
  set(thalweg_simd_optimisation -Og)
endif()
if(THALWEG_SANITIZE)
  target_compile_options(thalweg_options INTERFACE "-fsanitize=${THALWEG_SANITIZE}" -fno-sanitize-recover=all
                                                   -fno-omit-frame-pointer)
  target_link_options(thalweg_options INTERFACE "-fsanitize=${THALWEG_SANITIZE}")
  target_compile_definitions(thalweg_options INTERFACE _GLIBCXX_ASSERTIONS)
  set(thalweg_simd_optimisation -O1)
endif()
if(THALWEG_BUILD_FUZZERS)
  target_compile_options(thalweg_options INTERFACE -fsanitize-coverage=trace-pc,trace-cmp)
endif()
