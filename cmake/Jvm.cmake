# The jar for Spark (jvm/), as the target thalweg_jar: libthalweg_jni.so with the libraries it needs, and the Java classes,
# which Maven compiles.
#
# libthalweg_jni holds the engine itself and shows nothing but the functions that Java calls. Its C++ runtime is inside:
# what the node, or another library in the same JVM, has of it does not matter.

# CMake's own module does not know every place that a JDK may lie in.
find_program(JAVAC javac)
if(NOT JAVAC)
  message(STATUS "There is no javac: no jar for Spark (scripts/setup-spark installs what it needs)")
  return()
endif()
file(REAL_PATH "${JAVAC}" javac_file)
cmake_path(GET javac_file PARENT_PATH jdk_dir)
cmake_path(GET jdk_dir PARENT_PATH jdk_dir)

file(GLOB jni_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/jvm/src/main/native/*.cc")
set(jni_exports "${PROJECT_SOURCE_DIR}/jvm/src/main/native/exports.map")
add_library(thalweg_jni MODULE ${jni_sources} "$<TARGET_OBJECTS:thalweg>")
foreach(isa baseline avx2 avx512)  # in the order of cmake/Library.cmake, which matters
  target_sources(thalweg_jni PRIVATE "$<TARGET_OBJECTS:thalweg_simd_${isa}>")
endforeach()
target_include_directories(thalweg_jni PRIVATE "${PROJECT_SOURCE_DIR}/include")
target_include_directories(thalweg_jni SYSTEM PRIVATE "${jdk_dir}/include" "${jdk_dir}/include/linux")
target_link_libraries(thalweg_jni PRIVATE thalweg_private)
target_link_options(thalweg_jni PRIVATE -static-libstdc++ -Wl,--gc-sections -Wl,--exclude-libs,ALL
                    "-Wl,--version-script=${jni_exports}" -Wl,-z,defs)
set_target_properties(thalweg_jni PROPERTIES LINK_DEPENDS "${jni_exports}" EXCLUDE_FROM_ALL ON)

include(cmake/BundledLibraries.cmake)
get_target_property(zlib_library ZLIB::ZLIB IMPORTED_LOCATION)
if(NOT zlib_library)
  get_target_property(zlib_library ZLIB::ZLIB IMPORTED_LOCATION_RELEASE)
endif()
set(jvm_native_dir "${PROJECT_BINARY_DIR}/jvm/native")
set(jvm_manifest "${jvm_native_dir}/linux-x86_64/manifest.txt")
set(jvm_libraries ${bundled_libraries} "${zlib_library}")
add_custom_command(
  OUTPUT "${jvm_manifest}"
  COMMAND
    "${CMAKE_COMMAND}" "-Dengine=$<TARGET_FILE:thalweg_jni>" "-Dthreads=$<TARGET_FILE:thalweg_threads>"
    "-Dthreads_name=${thalweg_threads_soname}" "-Dlibraries=${jvm_libraries}"
    "-Dpatchelf=${PATCHELF}" "-Dstrip=${CMAKE_STRIP}" "-Dfolder=${jvm_native_dir}/linux-x86_64" -P
    "${PROJECT_SOURCE_DIR}/cmake/JvmLibraries.cmake"
  DEPENDS thalweg_jni thalweg_threads "${PROJECT_SOURCE_DIR}/cmake/JvmLibraries.cmake" "${PROJECT_SOURCE_DIR}/cmake/RenameLibraries.cmake"
  COMMENT "Collecting the native libraries of the jar"
  VERBATIM)

file(GLOB_RECURSE jvm_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/jvm/src/main/java/*.java"
     "${PROJECT_SOURCE_DIR}/jvm/src/main/resources/*")
set(THALWEG_SPARK_VERSION "4.2.0" CACHE STRING "The Spark that the jar is compiled against")
set(THALWEG_SCALA_VERSION "2.13" CACHE STRING "The Scala that this Spark was compiled with")
set(jvm_jar "${PROJECT_BINARY_DIR}/jvm/thalweg-spark.jar")
# Where scripts/setup-spark has fetched all that jvm/pom.xml asks for, it leaves a file, and Maven then uses no network.
set(jvm_repository "$ENV{HOME}/.m2/repository")
if(NOT "$ENV{MAVEN_REPO_LOCAL}" STREQUAL "")
  set(jvm_repository "$ENV{MAVEN_REPO_LOCAL}")
endif()
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/jvm/pom.xml")
file(SHA256 "${PROJECT_SOURCE_DIR}/jvm/pom.xml" pom_hash)
set(jvm_offline "")
if(EXISTS "${jvm_repository}/.thalweg/spark-${THALWEG_SPARK_VERSION}_${THALWEG_SCALA_VERSION}-${pom_hash}")
  set(jvm_offline --offline)
else()
  message(STATUS "Maven may use the network: scripts/setup-spark has not fetched all that the jar needs")
endif()
# Maven works for seconds: what it compiles of itself is compiled once and quickly.
set(jvm_maven "${CMAKE_COMMAND}" -E env "MAVEN_OPTS=-XX:TieredStopAtLevel=1 -XX:+UseSerialGC" mvn --batch-mode --quiet ${jvm_offline} "-Dmaven.repo.local=${jvm_repository}" --file
              "${PROJECT_SOURCE_DIR}/jvm/pom.xml" "-Drevision=${PROJECT_VERSION}"
              "-Dspark.version=${THALWEG_SPARK_VERSION}" "-Dscala.binary.version=${THALWEG_SCALA_VERSION}"
              "-Dnative.directory=${jvm_native_dir}" "-Doutput.directory=${PROJECT_BINARY_DIR}/jvm/maven")
add_custom_command(
  OUTPUT "${jvm_jar}"
  COMMAND ${jvm_maven} package -Dmaven.test.skip=true
  COMMAND "${CMAKE_COMMAND}" -E copy "${PROJECT_BINARY_DIR}/jvm/maven/thalweg-spark_${THALWEG_SCALA_VERSION}-${PROJECT_VERSION}.jar"
          "${jvm_jar}"
  # Where thalweg.spark.jar() looks for it.
  COMMAND "${CMAKE_COMMAND}" -E make_directory "${PROJECT_BINARY_DIR}/python/thalweg/spark"
  COMMAND "${CMAKE_COMMAND}" -E create_symlink "${jvm_jar}" "${PROJECT_BINARY_DIR}/python/thalweg/spark/thalweg-spark.jar"
  DEPENDS "${jvm_manifest}" ${jvm_sources} "${PROJECT_SOURCE_DIR}/jvm/pom.xml"
  COMMENT "Building the jar for Spark"
  VERBATIM)
add_custom_target(thalweg_jar DEPENDS "${jvm_jar}")

# The jar as a Python package of its own: with the jar, which has the engine inside as well, that of the engine would exceed
# what package registries take by default.
set(jar_wheel_dir "${PROJECT_BINARY_DIR}/jvm/python")
configure_file(jvm/python/pyproject.toml.in "${jar_wheel_dir}/pyproject.toml" @ONLY)
add_custom_target(
  thalweg_jar_wheel
  COMMAND "${CMAKE_COMMAND}" -E copy_directory "${PROJECT_SOURCE_DIR}/jvm/python/thalweg_spark_jar"
          "${jar_wheel_dir}/thalweg_spark_jar"
  COMMAND "${CMAKE_COMMAND}" -E copy "${jvm_jar}" "${jar_wheel_dir}/thalweg_spark_jar/thalweg-spark.jar"
  COMMAND "${Python_EXECUTABLE}" -m pip wheel --quiet --disable-pip-version-check --no-input --no-deps --no-build-isolation
          --wheel-dir "${PROJECT_BINARY_DIR}/jvm" "${jar_wheel_dir}"
  DEPENDS "${jvm_jar}"
  COMMENT "Building the wheel that holds the jar"
  VERBATIM)
