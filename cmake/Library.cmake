# libthalweg: every src/**/*.cc but the command-line program, the threads and what needs Arrow, in one shared library.

file(GLOB_RECURSE thalweg_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/*.cc")
set(thalweg_simd_sources ${thalweg_sources})
list(FILTER thalweg_simd_sources INCLUDE REGEX "/src/runtime/kernels/simd/[^/]*\\.cc$")
list(FILTER thalweg_sources EXCLUDE REGEX "/src/(cli|threads|data/arrow|runtime/kernels/simd)/")
list(FILTER thalweg_sources EXCLUDE REGEX "/src/comm/mpi_plugin\\.cc$")

add_library(thalweg SHARED ${thalweg_sources})
add_library(thalweg::thalweg ALIAS thalweg)
target_compile_features(thalweg PUBLIC cxx_std_20)
target_include_directories(thalweg PUBLIC "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>"
                                          "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
target_link_libraries(thalweg PRIVATE "$<BUILD_INTERFACE:thalweg_private>")
# Loops over all elements, for every x86-64-v2 CPU: they are limited by memory, which wider vectors would not help.
set_source_files_properties("${PROJECT_SOURCE_DIR}/src/comm/reduce.cc" "${PROJECT_SOURCE_DIR}/src/tensor/half_loops.cc" PROPERTIES COMPILE_OPTIONS "${thalweg_simd_optimisation}")
set_source_files_properties("${PROJECT_SOURCE_DIR}/src/capi/model.cc" PROPERTIES COMPILE_DEFINITIONS
                                                                        "TW_VERSION=\"${PROJECT_VERSION}\"")
set_target_properties(
  thalweg
  PROPERTIES VERSION "${PROJECT_VERSION}"
             SOVERSION "${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}"
             LINKER_LANGUAGE CXX
             INSTALL_RPATH "$ORIGIN")

# Sources in src/runtime/kernels/simd are compiled once per instruction set, each time into the namespace TW_SIMD_NS;
# the runtime picks one by CPU. The order matters: of an inline function that several objects hold, the linker keeps the
# first, which must be the one that runs on every CPU (tests/tools/check_simd_symbols.py looks after the rest).
function(thalweg_add_simd isa)
  if(NOT thalweg_simd_sources)
    return()
  endif()
  set(target "thalweg_simd_${isa}")
  add_library(${target} OBJECT ${thalweg_simd_sources})
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/include")
  target_link_libraries(${target} PRIVATE thalweg_private)
  target_compile_definitions(${target} PRIVATE "TW_SIMD_NS=${isa}")
  target_compile_options(${target} PRIVATE ${thalweg_simd_optimisation} -fno-math-errno -fno-trapping-math
                                           -ffp-contract=fast ${ARGN})
  target_sources(thalweg PRIVATE "$<TARGET_OBJECTS:${target}>")
endfunction()

# Single instruction sets rather than another -march: of two, the compiler heeds the last, and that is the one that
# everything is compiled with. TW_SIMD_MACRO is what must be defined as a result (simd/dispatch.h).
set(avx2_flags -mavx2 -mfma -mf16c -mbmi -mbmi2)
thalweg_add_simd(baseline -DTW_SIMD_MACRO=__SSE4_2__)
thalweg_add_simd(avx2 -DTW_SIMD_MACRO=__AVX2__ ${avx2_flags})
thalweg_add_simd(avx512 -DTW_SIMD_MACRO=__AVX512VL__ ${avx2_flags} -mavx512f -mavx512bw -mavx512dq -mavx512vl
                 -mavx512cd -mprefer-vector-width=512)

# Beside the library, which loads it only in processes that mpirun has started.
find_package(MPI QUIET COMPONENTS C)
if(MPI_C_FOUND)
  add_library(thalweg_mpi MODULE "${PROJECT_SOURCE_DIR}/src/comm/mpi_plugin.cc")
  target_include_directories(thalweg_mpi PRIVATE "${PROJECT_SOURCE_DIR}/src")
  target_compile_definitions(thalweg_mpi PRIVATE OMPI_SKIP_MPICXX)  # the C interface serves
  target_link_libraries(thalweg_mpi PRIVATE thalweg_options MPI::MPI_C)
endif()
