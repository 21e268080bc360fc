# Finds Arrow C++ where scripts/setup put it (THALWEG_DEPS), or elsewhere with Arrow_ROOT.
# Defines the imported targets Arrow::arrow, Arrow::compute, Arrow::acero, Arrow::parquet and Arrow::dataset, which links
# the others, and Arrow_LIBRARIES, Arrow_INCLUDE_DIR, Arrow_VERSION.

if(THALWEG_DEPS)
  file(GLOB arrow_hints "${THALWEG_DEPS}/arrow-*")
  list(SORT arrow_hints COMPARE NATURAL ORDER DESCENDING)
endif()

find_path(Arrow_INCLUDE_DIR arrow/dataset/api.h HINTS ${arrow_hints} PATH_SUFFIXES include)
set(arrow_parts arrow arrow_compute arrow_acero parquet arrow_dataset)
set(Arrow_LIBRARIES "")
set(arrow_variables "")
foreach(part IN LISTS arrow_parts)
  find_library(Arrow_${part}_LIBRARY ${part} HINTS ${arrow_hints} PATH_SUFFIXES lib)
  list(APPEND Arrow_LIBRARIES "${Arrow_${part}_LIBRARY}")
  list(APPEND arrow_variables Arrow_${part}_LIBRARY)
endforeach()

if(Arrow_INCLUDE_DIR AND EXISTS "${Arrow_INCLUDE_DIR}/arrow/util/config.h")
  file(STRINGS "${Arrow_INCLUDE_DIR}/arrow/util/config.h" arrow_line REGEX "#define ARROW_VERSION_STRING ")
  string(REGEX MATCH "\"([0-9.]+)" arrow_match "${arrow_line}")
  set(Arrow_VERSION "${CMAKE_MATCH_1}")
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(
  Arrow
  REQUIRED_VARS Arrow_INCLUDE_DIR ${arrow_variables}
  VERSION_VAR Arrow_VERSION REASON_FAILURE_MESSAGE "run scripts/setup, which fetches it")
mark_as_advanced(Arrow_INCLUDE_DIR ${arrow_variables})

if(Arrow_FOUND AND NOT TARGET Arrow::dataset)
  foreach(part IN LISTS arrow_parts)
    string(REPLACE "arrow_" "" name "${part}")
    add_library(Arrow::${name} SHARED IMPORTED)
    set_target_properties(
      Arrow::${name} PROPERTIES IMPORTED_LOCATION "${Arrow_${part}_LIBRARY}" INTERFACE_INCLUDE_DIRECTORIES
                                                                             "${Arrow_INCLUDE_DIR}")
  endforeach()
  set_target_properties(Arrow::dataset PROPERTIES INTERFACE_LINK_LIBRARIES
                                                  "Arrow::arrow;Arrow::compute;Arrow::acero;Arrow::parquet")
endif()
