# The programs: the command line (src/cli), the benchmarks (bench) and the examples, each built where it has sources.

file(GLOB_RECURSE thalweg_cli_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/cli/*.cc")
if(thalweg_cli_sources)
  add_executable(thalweg-cli ${thalweg_cli_sources})
  set_target_properties(thalweg-cli PROPERTIES OUTPUT_NAME thalweg INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
  target_compile_definitions(thalweg-cli PRIVATE "TW_VERSION=\"${PROJECT_VERSION}\"")
  target_link_libraries(thalweg-cli PRIVATE thalweg thalweg_arrow thalweg_private CLI11::CLI11)
endif()

if(THALWEG_BUILD_BENCH)
  file(GLOB thalweg_bench_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/bench/*.cc")
  if(thalweg_bench_sources)
    add_executable(thalweg_bench ${thalweg_bench_sources})
    target_include_directories(thalweg_bench PRIVATE "${PROJECT_SOURCE_DIR}")
    target_link_libraries(thalweg_bench PRIVATE thalweg thalweg_arrow thalweg_private)
  endif()
endif()

# Examples see the public headers only, as a user's program would. tests/CMakeLists.txt runs each of them.
set(thalweg_examples "")
if(THALWEG_BUILD_EXAMPLES)
  file(GLOB thalweg_example_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/examples/*.cc" "${PROJECT_SOURCE_DIR}/examples/*.c")
  foreach(source IN LISTS thalweg_example_sources)
    cmake_path(GET source STEM name)
    add_executable("example_${name}" "${source}")
    set_target_properties("example_${name}" PROPERTIES OUTPUT_NAME "${name}" RUNTIME_OUTPUT_DIRECTORY
                                                                            "${CMAKE_BINARY_DIR}/bin/examples")
    target_link_libraries("example_${name}" PRIVATE thalweg thalweg_options)
    list(APPEND thalweg_examples "${name}")
  endforeach()
endif()
