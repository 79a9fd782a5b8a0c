# Target `kernels_nv`: the network's kernels for NVIDIA GPUs (HIP's NVIDIA platform), with their manifests:
#   <build>/kernels/sm_90/m.cubin, m.json     and     <build>/kernels/sm_89/m.ptx, m.json (any later architecture)
# and the same for preset K (k.cubin, k.ptx).
# Target `kernels_nv_variants`: other builds of M's for sm_90, to be measured (bench_net_gpu --kernels).
# Needs nvcc (CUDA 12 or later); skipped with a message when it is not found. The rest of d4r needs no CUDA.
find_program(D4R_NVCC NAMES nvcc HINTS /usr/local/cuda/bin DOC "CUDA compiler for the kernels of HIP's NVIDIA platform")
if(NOT D4R_NVCC)
  message(STATUS "NVIDIA kernels are not built: nvcc not found")
  add_custom_target(kernels_nv COMMAND ${CMAKE_COMMAND} -E echo "NVIDIA kernels are not built: nvcc not found" VERBATIM)
  add_custom_target(kernels_nv_variants COMMAND ${CMAKE_COMMAND} -E echo "NVIDIA kernels are not built: nvcc not found" VERBATIM)
  return()
endif()
set(D4R_NV_FLAGS -std=c++17 -O3 -Werror all-warnings)
set(D4R_NV_SOURCES_m hip_kernels/m_kernels_nv.cu hip_kernels/m_args.h hip_kernels/m_block.h hip_kernels/m_kernel_config.h
  hip_kernels/tile_nv.h models/format/m_layout.h)
set(D4R_NV_SOURCES_k hip_kernels/k_kernels_nv.cu hip_kernels/m_args.h hip_kernels/k_block.h hip_kernels/k_kernel_config.h
  hip_kernels/tile_nv.h hip_kernels/tile_half_nv.h models/format/k_layout.h models/format/m_layout.h)
list(TRANSFORM D4R_NV_SOURCES_m PREPEND ${PROJECT_SOURCE_DIR}/ OUTPUT_VARIABLE nv_sources_m)
list(TRANSFORM D4R_NV_SOURCES_k PREPEND ${PROJECT_SOURCE_DIR}/ OUTPUT_VARIABLE nv_sources_k)
execute_process(COMMAND ${D4R_NVCC} --version OUTPUT_VARIABLE nvcc_version ERROR_QUIET)
string(REGEX MATCH "release [^\n]*" nvcc_version "${nvcc_version}")

set(nv_objects)
# A further argument: another folder instead of kernels; what follows it: further compiler options.
function(d4r_add_nv_kernels preset arch kind)
  set(folder ${CMAKE_BINARY_DIR}/kernels/${arch})
  set(flags ${D4R_NV_FLAGS})
  if(ARGC GREATER 3)
    set(folder ${CMAKE_BINARY_DIR}/${ARGV3}/${arch})
    list(APPEND flags ${ARGV4})
  endif()
  set(object ${folder}/${preset}.${kind})
  file(MAKE_DIRECTORY ${folder})
  add_custom_command(
    OUTPUT ${object} ${folder}/${preset}.json
    COMMAND ${D4R_NVCC} ${flags} -arch=${arch} -${kind} -I. hip_kernels/${preset}_kernels_nv.cu -o ${object}
    COMMAND ${CMAKE_COMMAND} -DOBJECT=${object} -DMANIFEST=${folder}/${preset}.json -DARCH=${arch} -DTARGET=${arch}
      "-DCOMPILER=nvcc ${nvcc_version}" "-DFLAGS=${flags}" "-DSOURCES=${D4R_NV_SOURCES_${preset}}"
      -P ${CMAKE_CURRENT_LIST_DIR}/manifest.cmake
    DEPENDS ${nv_sources_${preset}} ${CMAKE_CURRENT_LIST_DIR}/manifest.cmake
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
    COMMENT "Kernels ${folder} ${preset}"
    VERBATIM)
  set(nv_objects ${nv_objects} ${object} PARENT_SCOPE)
endfunction()
foreach(preset m k)
  d4r_add_nv_kernels(${preset} sm_90 cubin)
  d4r_add_nv_kernels(${preset} sm_89 ptx)
endforeach()
add_custom_target(kernels_nv DEPENDS ${nv_objects})

# Builds of M's kernels that only measurements use: which sums are added outside the tensor core (D4R_NV_SUMS in
# m_kernel_config.h): <build>/kernels_split, kernels_mixed, kernels_mixed_dec2.
set(nv_objects)
d4r_add_nv_kernels(m sm_90 cubin kernels_split -DD4R_NV_SUMS=1)
d4r_add_nv_kernels(m sm_90 cubin kernels_mixed -DD4R_NV_SUMS=2)
d4r_add_nv_kernels(m sm_90 cubin kernels_mixed_dec2 -DD4R_NV_SUMS=3)
add_custom_target(kernels_nv_variants DEPENDS ${nv_objects})
