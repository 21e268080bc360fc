# What every entry of ctest's has: a limit, the environment, labels that the runner (tests/runner) and `make check` ask for,
# and results of its cases below build/<preset>/test-results.
#
# Labels:
#   quick        runs first, and after every change (make check)
#   concurrent   has threads, processes, clusters or the network: what fails runs once more, alone
#   soak         runs many times beside busy loops (make soak-tests)
#   long         runs with `make test-long` only
#   part:<part>  a change in src/<part>, tests/<part>, python, jvm or examples asks for it

set(results_dir "${PROJECT_BINARY_DIR}/test-results")
file(MAKE_DIRECTORY "${results_dir}")

set(test_environment
    "THALWEG_CACHE=${CMAKE_CURRENT_BINARY_DIR}/cache"
    "THALWEG_DEPS=${THALWEG_DEPS}"
    "ASAN_OPTIONS=detect_stack_use_after_return=1:strict_string_checks=1"
    "LSAN_OPTIONS=suppressions=${CMAKE_CURRENT_SOURCE_DIR}/tools/lsan.supp:print_suppressions=0"
    "UBSAN_OPTIONS=print_stacktrace=1"
    "TSAN_OPTIONS=suppressions=${CMAKE_CURRENT_SOURCE_DIR}/tools/tsan.supp:history_size=4")
set(python_environment ${test_environment} "PYTHONPATH=${PROJECT_BINARY_DIR}/python" "PYTHONDONTWRITEBYTECODE=1" "PYTHONUNBUFFERED=1")

# thalweg_add_entry(NAME COMMAND... [LIMIT s] [LABELS ...] [ENVIRONMENT ...] [DIRECTORY d] [LOCK lock])
# An entry that exits with 77 lacks what it needs on this machine, and is reported as skipped. Entries of one lock never run
# beside each other.
function(thalweg_add_entry name)
  cmake_parse_arguments(entry "" "LIMIT;DIRECTORY;LOCK" "COMMAND;LABELS;ENVIRONMENT" ${ARGN})
  if(NOT entry_LIMIT)
    set(entry_LIMIT ${test_limit})
  endif()
  if(NOT entry_DIRECTORY)
    set(entry_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}")
  endif()
  if(NOT entry_ENVIRONMENT)
    set(entry_ENVIRONMENT ${test_environment})
  endif()
  add_test(NAME "${name}" COMMAND ${entry_COMMAND} WORKING_DIRECTORY "${entry_DIRECTORY}")
  set_tests_properties("${name}" PROPERTIES TIMEOUT ${entry_LIMIT} LABELS "${entry_LABELS}" ENVIRONMENT "${entry_ENVIRONMENT}"
                                            SKIP_RETURN_CODE 77)
  if(entry_LOCK)
    set_tests_properties("${name}" PROPERTIES RESOURCE_LOCK "${entry_LOCK}")
  endif()
  if(DEFINED "cost_${name}")
    set_tests_properties("${name}" PROPERTIES COST "${cost_${name}}")
  endif()
endfunction()

# thalweg_add_gtest(NAME PROGRAM FILTER [as thalweg_add_entry]): the cases of a GoogleTest program that a filter selects.
function(thalweg_add_gtest name program filter)
  thalweg_add_entry("${name}" COMMAND ${program} "--gtest_output=xml:${results_dir}/${name}.xml" "--gtest_filter=${filter}" ${ARGN})
endfunction()

# thalweg_add_pytest(NAME PYTHON FILES [as thalweg_add_entry]): the cases of files of pytest's. It prints the stacks of a
# case that hangs before the limit ends it.
function(thalweg_add_pytest name python files)
  cmake_parse_arguments(pytest "" "LIMIT;MARKER" "" ${ARGN})
  if(NOT pytest_LIMIT)
    set(pytest_LIMIT ${test_limit})
  endif()
  set(marker "")
  if(pytest_MARKER)
    set(marker -m "${pytest_MARKER}")
  endif()
  math(EXPR stacks_after "${pytest_LIMIT} * 3 / 4")
  thalweg_add_entry(
    "${name}" COMMAND "${python}" -m pytest -vv -p no:cacheprovider --rootdir "${PROJECT_SOURCE_DIR}" -o junit_family=xunit1
                      -o "faulthandler_timeout=${stacks_after}" "--junit-xml=${results_dir}/${name}.xml" ${marker} ${files} LIMIT
                      ${pytest_LIMIT} ${pytest_UNPARSED_ARGUMENTS})
endfunction()
