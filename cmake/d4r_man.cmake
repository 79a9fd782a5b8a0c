# Manual pages of the installed tools: made from what their --help prints, so that the two cannot differ.
set(d4r_man_pages
  "d4r-m|upscale a frame sequence with preset M"
  "d4r-k|upscale a frame sequence with preset K, the fast one"
  "d4r-compare|PSNR, SSIM and tPSNR of upscaled pictures"
  "d4r-convert|write a frame sequence in the capture layout of engine plugins"
  "d4r-sheet|contact sheet of input, upscaled picture and reference"
  "d4r-info|Vulkan and HIP devices and what d4r can do with them"
  "d4r-net|run the network of a model alone"
  "d4r-scene|render a procedural test sequence"
  "d4r-model|make, inspect and verify models")

find_program(D4R_AWK NAMES awk mawk gawk)
if(NOT D4R_BUILD_TOOLS OR NOT D4R_AWK OR CMAKE_CROSSCOMPILING OR D4R_SANITIZE)
  message(STATUS "Manual pages are not built: they need the tools, awk, a machine that runs them, and no sanitizer")
  return()
endif()
set(names)
foreach(entry IN LISTS d4r_man_pages)
  string(REGEX REPLACE "\\|.*" "" name "${entry}")
  if(TARGET ${name})
    list(APPEND names ${name})
  endif()
endforeach()
set(pages)
foreach(entry IN LISTS d4r_man_pages)
  string(REGEX MATCH "^([^|]*)\\|(.*)$" matched "${entry}")
  set(name ${CMAKE_MATCH_1})
  set(what ${CMAKE_MATCH_2})
  if(NOT TARGET ${name})
    continue()
  endif()
  set(others ${names})
  list(REMOVE_ITEM others ${name})
  list(TRANSFORM others APPEND "(1)")
  list(JOIN others ", " see)
  set(page ${CMAKE_BINARY_DIR}/man/man1/${name}.1)
  add_custom_command(OUTPUT ${page}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/man/man1
    COMMAND sh ${PROJECT_SOURCE_DIR}/docs/man/page.sh ${D4R_AWK} $<TARGET_FILE:${name}> "${what}" ${PROJECT_VERSION}
      "${see}" ${page}
    DEPENDS ${name} ${PROJECT_SOURCE_DIR}/docs/man/page.awk ${PROJECT_SOURCE_DIR}/docs/man/page.sh
    COMMENT "Manual page ${name}" VERBATIM)
  list(APPEND pages ${page})
endforeach()
add_custom_target(man ALL DEPENDS ${pages})
install(FILES ${pages} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
