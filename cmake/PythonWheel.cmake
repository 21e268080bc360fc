# What a wheel holds besides the Python files: the extension modules, the engine's libraries and, in thalweg/lib, those of
# the build machine that a plain Debian may lack. All but the C++ runtime and libgomp get names of their own, so that a
# process that has another version of them, from another package, does not mix them up. Arrow's are those of pyarrow.

find_program(PATCHELF patchelf REQUIRED)
install(TARGETS python_core python_arrow LIBRARY DESTINATION thalweg COMPONENT python)
install(TARGETS thalweg thalweg_arrow LIBRARY DESTINATION thalweg/lib COMPONENT python NAMELINK_SKIP)
install(DIRECTORY "${python_package_dir}/" DESTINATION thalweg COMPONENT python FILES_MATCHING PATTERN "*.pyi")

find_library(GOMP_LIBRARY libgomp.so.1 PATHS ${CMAKE_C_IMPLICIT_LINK_DIRECTORIES} /usr/lib/x86_64-linux-gnu REQUIRED)
file(REAL_PATH "${GOMP_LIBRARY}" gomp_file)
install(FILES "${gomp_file}" DESTINATION thalweg/lib RENAME libgomp.so.1 COMPONENT python)

set(wheel_libraries "${OneDNN_LIBRARY}")
foreach(target JPEG::JPEG PNG::PNG GIF::GIF OpenSSL::Crypto)
  get_target_property(location ${target} IMPORTED_LOCATION)
  if(NOT location)
    get_target_property(location ${target} IMPORTED_LOCATION_RELEASE)
  endif()
  list(APPEND wheel_libraries "${location}")
endforeach()
install(
  CODE "
  set(patchelf \"${PATCHELF}\")
  set(libraries \"${wheel_libraries}\")
  set(folder \"\${CMAKE_INSTALL_PREFIX}/thalweg/lib\")
  include(\"${PROJECT_SOURCE_DIR}/cmake/RenameWheelLibraries.cmake\")"
  COMPONENT python)
