# The Java classes by themselves, and the jar on Spark clusters of this machine. The tests start each cluster, whose
# executors are processes of their own. Two clusters at a time would need four processors, and twice the memory: while one
# runs, what has one process runs beside it.
thalweg_add_entry(jvm_test COMMAND ${jvm_maven} "-Doutput.directory=${PROJECT_BINARY_DIR}/jvm/maven-test" test LABELS unit
                  concurrent part:jvm)

set(spark_python "${THALWEG_DEPS}/spark-venv/bin/python")
if(NOT THALWEG_PYTHON OR NOT EXISTS "${spark_python}")
  return()
endif()
set(spark_environment ${python_environment} "THALWEG_SPARK_JAR=${PROJECT_BINARY_DIR}/jvm/thalweg-spark.jar")
# What has a life of its own: fits that are stopped, executors that are lost, progress that is watched.
set(spark_life_tests fit_life sight train clusters)
file(GLOB spark_tests CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/spark/test_*.py")
foreach(source IN LISTS spark_tests)
  cmake_path(GET source STEM name)
  string(REGEX REPLACE "^test_" "" name "${name}")
  set(labels unit spark concurrent)
  if(name IN_LIST spark_life_tests)
    list(APPEND labels soak)
  endif()
  thalweg_add_pytest("spark_${name}_test" "${spark_python}" "${source}" MARKER "not slow" LIMIT ${spark_limit} LABELS ${labels} LOCK
                     cluster ENVIRONMENT ${spark_environment})
endforeach()
thalweg_add_pytest(spark_long_test "${spark_python}" "${CMAKE_CURRENT_SOURCE_DIR}/spark" MARKER slow LIMIT ${long_limit} LABELS long
                   ENVIRONMENT ${spark_environment})
thalweg_add_example(spark_digits.py COMMAND "${spark_python}" "${PROJECT_SOURCE_DIR}/examples/spark_digits.py" LABELS spark LIMIT
                    ${spark_limit} LOCK cluster ENVIRONMENT ${python_environment})
