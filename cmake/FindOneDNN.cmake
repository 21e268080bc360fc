# Finds oneDNN where scripts/setup put it (THALWEG_DEPS), or elsewhere with OneDNN_ROOT.
# Defines the imported target DNNL::dnnl, OneDNN_LIBRARY, OneDNN_INCLUDE_DIR and OneDNN_VERSION.

if(THALWEG_DEPS)
  file(GLOB onednn_hints "${THALWEG_DEPS}/onednn-*")
  list(SORT onednn_hints COMPARE NATURAL ORDER DESCENDING)
endif()

# Only there: an older oneDNN of the system's must not be picked up in silence.
find_path(
  OneDNN_INCLUDE_DIR oneapi/dnnl/dnnl.hpp
  HINTS ${onednn_hints}
  PATH_SUFFIXES include
  NO_CMAKE_SYSTEM_PATH NO_SYSTEM_ENVIRONMENT_PATH)
find_library(
  OneDNN_LIBRARY dnnl
  HINTS ${onednn_hints}
  PATH_SUFFIXES lib
  NO_CMAKE_SYSTEM_PATH NO_SYSTEM_ENVIRONMENT_PATH)

if(OneDNN_INCLUDE_DIR AND EXISTS "${OneDNN_INCLUDE_DIR}/oneapi/dnnl/dnnl_version.h")
  file(STRINGS "${OneDNN_INCLUDE_DIR}/oneapi/dnnl/dnnl_version.h" onednn_lines
       REGEX "#define DNNL_VERSION_(MAJOR|MINOR|PATCH) ")
  foreach(part MAJOR MINOR PATCH)
    string(REGEX MATCH "DNNL_VERSION_${part} +([0-9]+)" onednn_match "${onednn_lines}")
    set(onednn_${part} "${CMAKE_MATCH_1}")
  endforeach()
  set(OneDNN_VERSION "${onednn_MAJOR}.${onednn_MINOR}.${onednn_PATCH}")
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(
  OneDNN
  REQUIRED_VARS OneDNN_LIBRARY OneDNN_INCLUDE_DIR
  VERSION_VAR OneDNN_VERSION REASON_FAILURE_MESSAGE "run scripts/setup, which fetches it")
mark_as_advanced(OneDNN_INCLUDE_DIR OneDNN_LIBRARY)

if(OneDNN_FOUND AND NOT TARGET DNNL::dnnl)
  add_library(DNNL::dnnl SHARED IMPORTED)
  set_target_properties(
    DNNL::dnnl
    PROPERTIES IMPORTED_LOCATION "${OneDNN_LIBRARY}"
               IMPORTED_SONAME libdnnl.so.3
               INTERFACE_INCLUDE_DIRECTORIES "${OneDNN_INCLUDE_DIR}")
endif()
