# Which libraries of the build machine travel with the engine, in a wheel or a jar, because a plain Debian may lack them:
# bundled_libraries, which get names of their own (cmake/RenameLibraries.cmake).

set(bundled_libraries "${onednn_library}")
foreach(target JPEG::JPEG PNG::PNG GIF::GIF OpenSSL::SSL OpenSSL::Crypto)
  get_target_property(location ${target} IMPORTED_LOCATION)
  if(NOT location)
    get_target_property(location ${target} IMPORTED_LOCATION_RELEASE)
  endif()
  list(APPEND bundled_libraries "${location}")
endforeach()
