# At installation: copies `libraries` into `folder` as lib<name>-thalweg.so, and has libthalweg there ask for these.

file(GLOB engine "${folder}/libthalweg.so.*.*.*")
foreach(library IN LISTS libraries)
  execute_process(COMMAND "${patchelf}" --print-soname "${library}" OUTPUT_VARIABLE soname OUTPUT_STRIP_TRAILING_WHITESPACE
                          COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX REPLACE "\\.so.*" "-thalweg.so" renamed "${soname}")
  file(REAL_PATH "${library}" file)
  file(COPY_FILE "${file}" "${folder}/${renamed}")
  execute_process(COMMAND "${patchelf}" --set-soname "${renamed}" "${folder}/${renamed}" COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND "${patchelf}" --replace-needed "${soname}" "${renamed}" "${engine}" COMMAND_ERROR_IS_FATAL ANY)
endforeach()
