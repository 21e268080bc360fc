# `cmake --install`: the libraries with oneDNN and Arrow beside them, the headers, the program, and a CMake package.

include(CMakePackageConfigHelpers)
set(thalweg_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/thalweg")

install(TARGETS thalweg thalweg_arrow thalweg_threads EXPORT thalwegTargets)
if(TARGET thalweg_mpi)
  install(TARGETS thalweg_mpi LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
endif()
if(TARGET thalweg-cli)
  install(TARGETS thalweg-cli)
endif()
set(arrow_library_files "")
foreach(library IN LISTS Arrow_LIBRARIES)
  file(REAL_PATH "${library}" library_file)
  list(APPEND arrow_library_files "${library_file}")
endforeach()
install(FILES "${onednn_library}" ${arrow_library_files} DESTINATION "${CMAKE_INSTALL_LIBDIR}")
if(EXISTS "${PROJECT_SOURCE_DIR}/include")
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
endif()

install(EXPORT thalwegTargets NAMESPACE thalweg:: DESTINATION "${thalweg_package_dir}")
configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/thalwegConfig.cmake.in" "${PROJECT_BINARY_DIR}/thalwegConfig.cmake"
                              INSTALL_DESTINATION "${thalweg_package_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/thalwegConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/thalwegConfig.cmake" "${PROJECT_BINARY_DIR}/thalwegConfigVersion.cmake"
        DESTINATION "${thalweg_package_dir}")
