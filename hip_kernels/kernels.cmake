# Target `kernels`: one code object for each architecture of architectures.def, with its manifest beside it:
#   <build>/kernels/<arch>/m.hsaco, m.json, k.hsaco, k.json          (presets M and K) installed under lib/d4r/kernels/<arch>/
# Needs clang >= 19 with the AMDGPU target (Debian: clang-19 lld-19), or ROCm's hipcc or clang named by the environment
# or cache variable D4R_HIPCC. No ROCm headers or libraries are used.

# Without -fuse-cuid=none the code object holds a symbol named after the path of its output: no two builds were alike.
set(D4R_KERNEL_FLAGS -x hip --cuda-device-only --no-gpu-bundle-output -nogpulib -nogpuinc -fuse-cuid=none -std=c++17 -O3
  -ffp-contract=off -Wall -Wextra -Werror)
set(D4R_KERNEL_SOURCES_m hip_kernels/m_kernels.hip hip_kernels/m_args.h hip_kernels/m_block.h
  hip_kernels/m_kernel_config.h hip_kernels/tile_gfx.h hip_kernels/tile_gfx_rows.h hip_kernels/tile_gfx11.h
  hip_kernels/tile_gfx12.h models/format/m_layout.h)
set(D4R_KERNEL_SOURCES_k hip_kernels/k_kernels.hip hip_kernels/m_args.h hip_kernels/k_block.h
  hip_kernels/k_kernel_config.h hip_kernels/tile_gfx.h hip_kernels/tile_gfx_rows.h hip_kernels/tile_gfx11.h
  hip_kernels/tile_gfx12.h hip_kernels/tile_half_gfx.h models/format/k_layout.h models/format/m_layout.h)

if(NOT D4R_HIPCC AND DEFINED ENV{D4R_HIPCC})
  set(D4R_HIPCC $ENV{D4R_HIPCC})
endif()
find_program(D4R_HIPCC NAMES clang-19 clang-20 clang-21 clang-22 clang amdclang hipcc
  HINTS /opt/rocm/llvm/bin /opt/rocm/bin DOC "Compiler for the GPU kernels: clang >= 19 or ROCm's")

# Sets `result` to the compiler's error when it cannot build for `arch`, else to an empty string.
function(d4r_probe_kernel_compiler arch result)
  set(probe ${CMAKE_CURRENT_BINARY_DIR}/probe.hip)
  file(WRITE ${probe} "extern \"C\" __attribute__((global)) void probe(int *p) { *p = 1; }\n")
  execute_process(COMMAND ${D4R_HIPCC} ${D4R_KERNEL_FLAGS} --offload-arch=${arch} ${probe} -o ${probe}.hsaco
    RESULT_VARIABLE failed ERROR_VARIABLE text OUTPUT_QUIET)
  set(${result} "" PARENT_SCOPE)
  if(failed)
    string(REGEX MATCH "[^\n]*error[^\n]*" line "${text}")
    set(${result} "${D4R_HIPCC} cannot build for ${arch}: ${line}" PARENT_SCOPE)
  endif()
endfunction()

if(D4R_HIPCC)
  d4r_probe_kernel_compiler(gfx1201 problem)
else()
  set(problem "no clang >= 19 found (Debian: apt install clang-19 lld-19; or set D4R_HIPCC)")
endif()
if(problem)
  message(STATUS "GPU kernels are not built: ${problem}")
  add_custom_target(kernels COMMAND ${CMAKE_COMMAND} -E echo "GPU kernels are not built: ${problem}" VERBATIM)
  return()
endif()

execute_process(COMMAND ${D4R_HIPCC} --version OUTPUT_VARIABLE version ERROR_QUIET)
string(REGEX REPLACE "\n.*" "" version "${version}")
file(STRINGS ${CMAKE_CURRENT_LIST_DIR}/architectures.def lines REGEX "^D4R_ARCHITECTURE")
list(TRANSFORM D4R_KERNEL_SOURCES_m PREPEND ${PROJECT_SOURCE_DIR}/ OUTPUT_VARIABLE sources_m)
list(TRANSFORM D4R_KERNEL_SOURCES_k PREPEND ${PROJECT_SOURCE_DIR}/ OUTPUT_VARIABLE sources_k)
set(objects)
foreach(line ${lines})
  string(REGEX REPLACE "^D4R_ARCHITECTURE\\(([a-z0-9]+),.*" "\\1" arch "${line}")
  # LLVM before 20 does not know gfx1153. Its instruction set is that of gfx1152 (11.5; LLVM 19 gives gfx1150 and
  # gfx1152 the same code), so it is built as that and relabelled: the machine in e_flags and the name in the notes.
  set(target ${arch})
  set(relabel true)
  if(arch STREQUAL "gfx1153")
    d4r_probe_kernel_compiler(gfx1153 unknown)
    if(unknown)
      set(target gfx1152)
      set(relabel ${CMAKE_CURRENT_LIST_DIR}/relabel.sh gfx1152 gfx1153 058)
    endif()
  endif()
  set(folder ${CMAKE_BINARY_DIR}/kernels/${arch})
  file(MAKE_DIRECTORY ${folder})
  foreach(preset m k)
    set(object ${folder}/${preset}.hsaco)
    add_custom_command(
      OUTPUT ${object} ${folder}/${preset}.json
      COMMAND ${D4R_HIPCC} ${D4R_KERNEL_FLAGS} --offload-arch=${target} -I. hip_kernels/${preset}_kernels.hip -o ${object}
      COMMAND ${relabel} ${object}
      COMMAND ${CMAKE_COMMAND} -DOBJECT=${object} -DMANIFEST=${folder}/${preset}.json -DARCH=${arch} -DTARGET=${target}
        "-DCOMPILER=${version}" "-DFLAGS=${D4R_KERNEL_FLAGS}" "-DSOURCES=${D4R_KERNEL_SOURCES_${preset}}"
        -P ${CMAKE_CURRENT_LIST_DIR}/manifest.cmake
      DEPENDS ${sources_${preset}} ${CMAKE_CURRENT_LIST_DIR}/manifest.cmake
      WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
      COMMENT "Kernels ${arch} ${preset}"
      VERBATIM)
    list(APPEND objects ${object})
  endforeach()
endforeach()
add_custom_target(kernels DEPENDS ${objects})

# Built a second time, into another folder, a code object is the same file.
if(D4R_BUILD_TESTS AND NOT D4R_SANITIZE)
  string(REPLACE ";" " " flags "${D4R_KERNEL_FLAGS}")
  add_test(NAME kernels_reproducible WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
    COMMAND sh -c "again=$(mktemp) && trap 'rm -f $again' EXIT && \
      ${D4R_HIPCC} ${flags} --offload-arch=gfx1201 -I. hip_kernels/m_kernels.hip -o $again && \
      cmp $again ${CMAKE_BINARY_DIR}/kernels/gfx1201/m.hsaco")
  set_tests_properties(kernels_reproducible PROPERTIES LABELS "hip" TIMEOUT 300)
endif()
install(DIRECTORY ${CMAKE_BINARY_DIR}/kernels/ DESTINATION ${CMAKE_INSTALL_LIBDIR}/d4r/kernels OPTIONAL)
