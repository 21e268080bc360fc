# Copies `libraries` into `folder` as lib<name>-thalweg.so, and has the libraries named in `users` (paths) ask for these,
# so that a process that has another version of them, from another package, does not mix them up.

foreach(library IN LISTS libraries)
  execute_process(COMMAND "${patchelf}" --print-soname "${library}" OUTPUT_VARIABLE soname OUTPUT_STRIP_TRAILING_WHITESPACE
                          COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX REPLACE "\\.so.*" "-thalweg.so" renamed "${soname}")
  file(REAL_PATH "${library}" file)
  file(COPY_FILE "${file}" "${folder}/${renamed}")
  execute_process(COMMAND "${patchelf}" --set-soname "${renamed}" --set-rpath "$ORIGIN" "${folder}/${renamed}"
                          COMMAND_ERROR_IS_FATAL ANY)
  list(APPEND users "${folder}/${renamed}")
  list(APPEND replacements --replace-needed "${soname}" "${renamed}")
endforeach()
foreach(user IN LISTS users)
  execute_process(COMMAND "${patchelf}" ${replacements} "${user}" COMMAND_ERROR_IS_FATAL ANY)
endforeach()
