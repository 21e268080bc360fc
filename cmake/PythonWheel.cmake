# What a wheel holds besides the Python files: the extension modules, the program, the engine's libraries and, in
# thalweg/lib, those of the build machine that a plain Debian may lack. Arrow's are those of pyarrow: Python has loaded them
# before the module of tables, the program finds them in the folder beside the package.

include(cmake/BundledLibraries.cmake)
install(TARGETS python_core python_arrow LIBRARY DESTINATION thalweg COMPONENT python)
install(TARGETS thalweg thalweg_arrow thalweg_threads LIBRARY DESTINATION thalweg/lib COMPONENT python NAMELINK_SKIP)
set_target_properties(thalweg_arrow PROPERTIES INSTALL_RPATH "$ORIGIN:$ORIGIN/../../pyarrow")
set_target_properties(thalweg-cli PROPERTIES INSTALL_RPATH "$ORIGIN/../lib")
install(TARGETS thalweg-cli RUNTIME DESTINATION thalweg/bin COMPONENT python)
install(DIRECTORY "${python_package_dir}/" DESTINATION thalweg COMPONENT python FILES_MATCHING PATTERN "*.pyi")
install(
  CODE "
  set(patchelf \"${PATCHELF}\")
  set(libraries \"${bundled_libraries}\")
  set(folder \"\${CMAKE_INSTALL_PREFIX}/thalweg/lib\")
  file(GLOB users \"\${folder}/libthalweg.so.*.*.*\")
  list(APPEND users \"\${CMAKE_INSTALL_PREFIX}/thalweg/bin/thalweg\")
  include(\"${PROJECT_SOURCE_DIR}/cmake/RenameLibraries.cmake\")"
  COMPONENT python)
