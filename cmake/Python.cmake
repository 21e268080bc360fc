# The Python package (python/): the extension modules, and beside them links to the Python files, so that
# PYTHONPATH=<build>/python uses the sources as they are. `pip install .` comes here through scikit-build-core (SKBUILD).

if(NOT SKBUILD)
  set(Python_EXECUTABLE "${THALWEG_DEPS}/python-venv/bin/python")
  if(NOT EXISTS "${Python_EXECUTABLE}")
    message(FATAL_ERROR "${Python_EXECUTABLE} is missing: run scripts/setup, or configure with -DTHALWEG_PYTHON=OFF")
  endif()
endif()
find_package(Python 3.10 REQUIRED COMPONENTS Interpreter Development.Module)
if(NOT nanobind_ROOT)
  execute_process(COMMAND "${Python_EXECUTABLE}" -m nanobind --cmake_dir OUTPUT_VARIABLE nanobind_ROOT
                  OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
endif()
find_package(nanobind 3.1 CONFIG REQUIRED)

set(python_package_dir "${PROJECT_BINARY_DIR}/python/thalweg")
file(GLOB python_core_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/python/src/*.cc")
nanobind_add_module(python_core NB_STATIC NB_SUPPRESS_WARNINGS NOMINSIZE NOSTRIP ${python_core_sources})
target_include_directories(python_core PRIVATE "${PROJECT_SOURCE_DIR}/python/src" "${PROJECT_SOURCE_DIR}/src")
target_compile_definitions(python_core PRIVATE "TW_VERSION=\"${PROJECT_VERSION}\"")
target_link_libraries(python_core PRIVATE thalweg thalweg_options Threads::Threads)
set_target_properties(python_core PROPERTIES OUTPUT_NAME _core LIBRARY_OUTPUT_DIRECTORY "${python_package_dir}"
                                             INSTALL_RPATH "$ORIGIN/lib")

# The module of tables is apart: it needs Arrow's libraries, which Python loads out of pyarrow first.
file(GLOB python_arrow_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/python/src/arrow/*.cc")
list(APPEND python_arrow_sources "${PROJECT_SOURCE_DIR}/python/src/arrays.cc" "${PROJECT_SOURCE_DIR}/python/src/arrow_array.cc"
     "${PROJECT_SOURCE_DIR}/python/src/columns.cc")
nanobind_add_module(python_arrow NB_STATIC NB_SUPPRESS_WARNINGS NOMINSIZE NOSTRIP ${python_arrow_sources})
target_include_directories(python_arrow PRIVATE "${PROJECT_SOURCE_DIR}/python/src")
target_link_libraries(python_arrow PRIVATE thalweg_arrow thalweg_options)
set_target_properties(python_arrow PROPERTIES OUTPUT_NAME _arrow LIBRARY_OUTPUT_DIRECTORY "${python_package_dir}"
                                              INSTALL_RPATH "$ORIGIN/lib")

file(GLOB_RECURSE python_files CONFIGURE_DEPENDS RELATIVE "${PROJECT_SOURCE_DIR}/python/thalweg"
     "${PROJECT_SOURCE_DIR}/python/thalweg/*.py" "${PROJECT_SOURCE_DIR}/python/thalweg/py.typed")
foreach(file IN LISTS python_files)
  cmake_path(GET file PARENT_PATH folder)
  file(MAKE_DIRECTORY "${python_package_dir}/${folder}")
  # Only where there is none: somebody may be using the package while CMake runs again.
  if(NOT EXISTS "${python_package_dir}/${file}")
    file(CREATE_LINK "${PROJECT_SOURCE_DIR}/python/thalweg/${file}" "${python_package_dir}/${file}" SYMBOLIC)
  endif()
endforeach()

nanobind_add_stub(python_core_stub MODULE thalweg._core RECURSIVE OUTPUT_PATH "${python_package_dir}"
                  OUTPUT "${python_package_dir}/_core/__init__.pyi" PYTHON_PATH "${PROJECT_BINARY_DIR}/python"
                  DEPENDS python_core)
# In the build tree it finds Arrow's libraries by its run path: pip builds without pyarrow.
nanobind_add_stub(python_arrow_stub MODULE thalweg._arrow OUTPUT "${python_package_dir}/_arrow.pyi"
                  PYTHON_PATH "${PROJECT_BINARY_DIR}/python" DEPENDS python_core python_arrow)
add_custom_target(python_package ALL DEPENDS python_core python_arrow python_core_stub python_arrow_stub)

if(SKBUILD)
  include(cmake/PythonWheel.cmake)
endif()
