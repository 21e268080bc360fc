# Every example is run, with the arguments in examples/<name>.args if there is such a file (@THALWEG_DEPS@ in it is
# replaced). An example that exits with 77 is reported as skipped: data it needs is not there.

# thalweg_add_example(NAME COMMAND... [as thalweg_add_entry])
function(thalweg_add_example name)
  cmake_parse_arguments(example "" "LIMIT;LOCK" "COMMAND;LABELS;ENVIRONMENT" ${ARGN})
  set(arguments "")
  set(arguments_file "${PROJECT_SOURCE_DIR}/examples/${name}.args")
  if(EXISTS "${arguments_file}")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${arguments_file}")
    file(READ "${arguments_file}" arguments)
    string(CONFIGURE "${arguments}" arguments @ONLY)
    separate_arguments(arguments UNIX_COMMAND "${arguments}")
  endif()
  set(example_dir "${CMAKE_CURRENT_BINARY_DIR}/example_${name}")
  file(MAKE_DIRECTORY "${example_dir}")
  thalweg_add_entry(
    "example_${name}" COMMAND ${example_COMMAND} ${arguments} DIRECTORY "${example_dir}" LABELS example concurrent part:examples
    ${example_LABELS} ENVIRONMENT ${example_ENVIRONMENT} LIMIT ${example_LIMIT} LOCK
    ${example_LOCK})
endfunction()

foreach(name IN LISTS thalweg_examples)
  thalweg_add_example("${name}" COMMAND "example_${name}")
endforeach()
if(THALWEG_PYTHON)
  file(GLOB python_examples CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/examples/*.py")
  list(FILTER python_examples EXCLUDE REGEX "/spark_[^/]*$")  # with pyspark, in Spark.cmake
  foreach(source IN LISTS python_examples)
    cmake_path(GET source FILENAME name)
    thalweg_add_example("${name}" COMMAND "${Python_EXECUTABLE}" "${source}" ENVIRONMENT ${python_environment})
  endforeach()
endif()
