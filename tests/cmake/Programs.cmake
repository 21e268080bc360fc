# Each folder tests/<part> becomes one program <part>_test of all the *_test.cc below it. Files named *_long_test.cc make
# <part>_long_test instead. tests/support/*.cc is linked into every one of them.

find_package(GTest 1.12 REQUIRED)
file(GLOB_RECURSE support_sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/support/*.cc")
# What tests say themselves is compiled as it stands, which takes a third less time; helpers with loops are optimised.
if(CMAKE_BUILD_TYPE STREQUAL "RelWithDebInfo" AND NOT THALWEG_SANITIZE)
  set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O0 -g1")
  set(support_options -O2)
endif()
# A program need not be linked again because a shared library below it has new code.
set(CMAKE_LINK_DEPENDS_NO_SHARED ON)

add_library(thalweg_test INTERFACE)
target_include_directories(thalweg_test INTERFACE "${CMAKE_CURRENT_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}")
configure_file(support/source_dir.h.in "${CMAKE_CURRENT_BINARY_DIR}/generated/support/source_dir.h" @ONLY)
target_include_directories(thalweg_test INTERFACE "${CMAKE_CURRENT_BINARY_DIR}/generated")
target_link_libraries(thalweg_test INTERFACE thalweg thalweg_private GTest::gmock GTest::gtest)
add_library(thalweg_test_support STATIC ${support_sources})
target_link_libraries(thalweg_test_support PUBLIC thalweg_test)
target_compile_options(thalweg_test_support PRIVATE ${support_options})

function(thalweg_add_test_program name)
  add_executable(${name} ${ARGN})
  target_link_libraries(${name} PRIVATE thalweg_test thalweg_test_support GTest::gmock_main)
endfunction()

# thalweg_shard(PART NAME LABELS... SUITES...): these suites of a part are the entry <part>_<name>_test, apart from the rest.
macro(thalweg_shard part name)
  cmake_parse_arguments(shard "" "" "LABELS;SUITES" ${ARGN})
  list(APPEND shards_${part} "${name}")
  set(labels_${part}_${name} ${shard_LABELS})
  list(JOIN shard_SUITES ":" suites_${part}_${name})
endmacro()

# thalweg_add_part(PART LABELS...): the entries of a part: its shards, and what no shard has.
function(thalweg_add_part part)
  set(rest "")
  foreach(shard IN LISTS shards_${part})
    thalweg_add_gtest("${part}_${shard}_test" ${part}_test "${suites_${part}_${shard}}" LABELS unit "part:${part}"
                      ${labels_${part}_${shard}})
    list(APPEND rest "${suites_${part}_${shard}}")
  endforeach()
  list(JOIN rest ":" rest)
  thalweg_add_gtest("${part}_test" ${part}_test "*-${rest}" LABELS unit "part:${part}" ${ARGN})
endfunction()

file(GLOB_RECURSE test_sources CONFIGURE_DEPENDS RELATIVE "${CMAKE_CURRENT_SOURCE_DIR}" "${CMAKE_CURRENT_SOURCE_DIR}/*_test.cc")
list(FILTER test_sources EXCLUDE REGEX "^runner/")
set(parts "")
foreach(source IN LISTS test_sources)
  if(NOT source MATCHES "^([^/]+)/")
    message(FATAL_ERROR "tests/${source} lies in no part: move it to tests/<part>/")
  endif()
  set(part "${CMAKE_MATCH_1}")
  list(APPEND parts "${part}")
  if(source MATCHES "_long_test\\.cc$")
    list(APPEND long_sources_${part} "${source}")
  else()
    list(APPEND sources_${part} "${source}")
  endif()
endforeach()
list(REMOVE_DUPLICATES parts)
