# The installed package: libraries, headers, CMake package, pkg-config file, tools, kernels, models, man pages, licence.
# Everything in it finds everything else by relative paths, so that the whole prefix can be moved.
include(CMakePackageConfigHelpers)

set(d4r_cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/d4r)
set(d4r_data_dir ${CMAKE_INSTALL_DATADIR}/d4r)

install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/d4r DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(TARGETS d4r EXPORT d4r_shared)
install(TARGETS d4r_static EXPORT d4r_archive)
install(EXPORT d4r_shared NAMESPACE d4r:: FILE d4r-shared.cmake DESTINATION ${d4r_cmake_dir})
install(EXPORT d4r_archive NAMESPACE d4r:: FILE d4r-static.cmake DESTINATION ${d4r_cmake_dir})

configure_package_config_file(cmake/d4r-config.cmake.in ${CMAKE_BINARY_DIR}/package/d4r-config.cmake
  INSTALL_DESTINATION ${d4r_cmake_dir} PATH_VARS d4r_data_dir CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_BINDIR)
# Before 1.0 a minor version may change the ABI: see docs/embedding.md.
write_basic_package_version_file(${CMAKE_BINARY_DIR}/package/d4r-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/package/d4r-config.cmake ${CMAKE_BINARY_DIR}/package/d4r-config-version.cmake
  DESTINATION ${d4r_cmake_dir})

file(RELATIVE_PATH d4r_pc_prefix /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
configure_file(cmake/d4r.pc.in ${CMAKE_BINARY_DIR}/package/d4r.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/package/d4r.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# What loading and verifying a model needs; the trainer's own files stay behind.
foreach(model m k)
  if(EXISTS ${PROJECT_SOURCE_DIR}/models/${model}/model.json)
    file(GLOB model_files ${PROJECT_SOURCE_DIR}/models/${model}/*.bin)
    install(FILES models/${model}/model.json models/${model}/weights.safetensors ${model_files} models/${model}/README.md
      DESTINATION ${d4r_data_dir}/models/${model})
  endif()
endforeach()

install(FILES LICENSE README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
file(GLOB d4r_pages CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/docs/*.md)
install(FILES ${d4r_pages} DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs)
