# Run by the build: puts libthalweg_jni (`engine`), libthalweg_threads (`threads`, to be named `threads_name`) and other
# `libraries`, stripped, into `folder`, with a manifest.txt of their SHA-256 by which they are checked where they are unpacked.

file(REMOVE_RECURSE "${folder}")
file(MAKE_DIRECTORY "${folder}")
file(COPY_FILE "${engine}" "${folder}/libthalweg_jni.so")
file(COPY_FILE "${threads}" "${folder}/${threads_name}")
execute_process(COMMAND "${strip}" --strip-unneeded "${folder}/libthalweg_jni.so" "${folder}/${threads_name}"
                        COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND "${patchelf}" --set-rpath "$ORIGIN" "${folder}/libthalweg_jni.so" COMMAND_ERROR_IS_FATAL ANY)
set(users "${folder}/libthalweg_jni.so")
include("${CMAKE_CURRENT_LIST_DIR}/RenameLibraries.cmake")

file(GLOB files RELATIVE "${folder}" "${folder}/*.so*")
foreach(file IN LISTS files)
  file(SHA256 "${folder}/${file}" hash)
  string(APPEND manifest "${hash}  ${file}\n")
endforeach()
file(WRITE "${folder}/manifest.txt" "${manifest}")
