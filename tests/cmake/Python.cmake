# The Python package as it lies in the build, a file of tests at a time, and (with `make test-long`) as a wheel in a fresh
# environment.
set(concurrent_python_tests processes groups estimator training)
file(GLOB python_tests CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/python/test_*.py")
foreach(source IN LISTS python_tests)
  cmake_path(GET source STEM name)
  string(REGEX REPLACE "^test_" "" name "${name}")
  set(labels unit part:python)
  if(name IN_LIST concurrent_python_tests)
    list(APPEND labels concurrent)
  endif()
  thalweg_add_pytest("python_${name}_test" "${Python_EXECUTABLE}" "${source}" LABELS ${labels} ENVIRONMENT ${python_environment})
endforeach()
thalweg_add_entry(python_wheel_test COMMAND "${PROJECT_SOURCE_DIR}/scripts/check-wheel" "${PROJECT_BINARY_DIR}/wheel_check" LIMIT
                  ${long_limit} LABELS long)
