# d4r_add_shader(TARGET VARIABLE_NAME SOURCE.comp [defines...])
# Compiles a GLSL compute shader to SPIR-V and adds a generated C file with
#   const uint32_t VARIABLE_NAME[]; const size_t VARIABLE_NAME_size; (bytes)
# to TARGET. Included *.glsl files are tracked through glslang's depfile.
find_program(D4R_GLSLANG NAMES glslangValidator REQUIRED)
set(D4R_EMBED_SCRIPT ${CMAKE_CURRENT_LIST_DIR}/embed_spirv.cmake)

function(d4r_add_shader target name source)
  get_filename_component(source_path ${source} ABSOLUTE)
  set(spv ${CMAKE_CURRENT_BINARY_DIR}/${name}.spv)
  set(out ${CMAKE_CURRENT_BINARY_DIR}/${name}.spv.c)
  set(defines)
  foreach(define ${ARGN})
    list(APPEND defines -D${define})
  endforeach()
  add_custom_command(
    OUTPUT ${out}
    # vulkan1.2: with vulkan1.3 glslang emits LocalSizeId, which needs maintenance4.
    COMMAND ${D4R_GLSLANG} --quiet -V --target-env vulkan1.2 ${defines} --depfile ${spv}.d -o ${spv} ${source_path}
    COMMAND ${CMAKE_COMMAND} -DINPUT=${spv} -DOUTPUT=${out} -DNAME=${name} -P ${D4R_EMBED_SCRIPT}
    DEPENDS ${source_path} ${D4R_EMBED_SCRIPT}
    DEPFILE ${spv}.d
    COMMENT "SPIR-V ${name}"
    VERBATIM)
  target_sources(${target} PRIVATE ${out})
endfunction()
