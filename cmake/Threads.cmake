# libthalweg_threads, which runs parallel regions in place of libgomp (src/threads/threads.h), and the interface target
# thalweg_openmp: what code with `#pragma omp` is compiled and linked with.

file(GLOB thalweg_threads_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/threads/*.cc")
set(thalweg_threads_exports "${PROJECT_SOURCE_DIR}/src/threads/exports.map")
add_library(thalweg_threads SHARED ${thalweg_threads_sources})
target_include_directories(thalweg_threads PRIVATE "${PROJECT_SOURCE_DIR}/src")
target_compile_options(thalweg_threads PRIVATE -fno-exceptions -fno-rtti -ftls-model=initial-exec)
target_link_libraries(thalweg_threads PRIVATE "$<BUILD_INTERFACE:thalweg_options>" Threads::Threads)
# Its threads run its code until the process ends, whoever unloads what.
target_link_options(thalweg_threads PRIVATE "-Wl,--version-script=${thalweg_threads_exports}" -Wl,-z,defs -Wl,-z,nodelete)
# By the C compiler's driver: it needs nothing of the C++ runtime.
set_target_properties(
  thalweg_threads
  PROPERTIES VERSION "${PROJECT_VERSION}"
             SOVERSION "${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}"
             LINKER_LANGUAGE C
             LINK_DEPENDS "${thalweg_threads_exports}")
set(thalweg_threads_soname "libthalweg_threads.so.${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}")

# The compiler's driver would link libgomp if it were told -fopenmp when linking.
add_library(thalweg_openmp INTERFACE)
target_compile_options(thalweg_openmp INTERFACE -fopenmp)
target_link_libraries(thalweg_openmp INTERFACE thalweg_threads)
foreach(name GOMP_parallel GOMP_barrier omp_get_thread_num omp_get_num_threads omp_get_max_threads omp_in_parallel
             omp_set_num_threads)
  target_link_options(thalweg_openmp INTERFACE "LINKER:--wrap=${name}")
endforeach()
