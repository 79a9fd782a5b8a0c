# An include against the folder diagram (docs/architecture.md) fails the build, through the target d4r_include_arrows.
file(GLOB_RECURSE d4r_arrow_files CONFIGURE_DEPENDS
  ${PROJECT_SOURCE_DIR}/include/*.h ${PROJECT_SOURCE_DIR}/runtime/*.[ch] ${PROJECT_SOURCE_DIR}/interop/*.[ch]
  ${PROJECT_SOURCE_DIR}/vk_stages/*.[ch] ${PROJECT_SOURCE_DIR}/vk_stages/*.glsl ${PROJECT_SOURCE_DIR}/vk_stages/*.comp
  ${PROJECT_SOURCE_DIR}/hip_kernels/*.[ch] ${PROJECT_SOURCE_DIR}/hip_kernels/*.hip ${PROJECT_SOURCE_DIR}/models/*.[ch]
  ${PROJECT_SOURCE_DIR}/examples/*.[ch])
set(d4r_arrow_stamp ${CMAKE_BINARY_DIR}/include_arrows.stamp)
add_custom_command(
  OUTPUT ${d4r_arrow_stamp}
  COMMAND ${CMAKE_COMMAND} -DROOT=${PROJECT_SOURCE_DIR} -DSTAMP=${d4r_arrow_stamp}
    -P ${PROJECT_SOURCE_DIR}/cmake/check_includes.cmake
  DEPENDS ${d4r_arrow_files} ${PROJECT_SOURCE_DIR}/cmake/check_includes.cmake
  COMMENT "Includes against the folder diagram" VERBATIM)
add_custom_target(d4r_include_arrows ALL DEPENDS ${d4r_arrow_stamp})
