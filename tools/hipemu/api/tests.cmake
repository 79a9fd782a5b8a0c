# Tests of the API layer and the conformance suite. Kernels are compiled by clang >= 19, for the device and the host.
find_program(HIPEMU_CLANG NAMES clang-19 clang-20 clang-21 clang)
pkg_check_modules(CMOCKA REQUIRED cmocka)
set(tests ${CMAKE_CURRENT_SOURCE_DIR}/../tests)
set(conformance ${tests}/conformance)
set(code_folder ${CMAKE_CURRENT_BINARY_DIR}/code)
file(MAKE_DIRECTORY ${code_folder})

add_library(hipemu_test_table OBJECT ${tests}/hip_table.c)
target_compile_definitions(hipemu_test_table PRIVATE HIPEMU_LIBRARY="$<TARGET_FILE:hipemu>")
target_include_directories(hipemu_test_table PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/..)
target_link_libraries(hipemu_test_table PRIVATE d4r_options)

# hipemu_test(name source...): a cmocka program that opens libhipemu.so by dlopen.
function(hipemu_test name)
  add_executable(${name} ${ARGN} $<TARGET_OBJECTS:hipemu_test_table>)
  target_include_directories(${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/.. ${CMOCKA_INCLUDE_DIRS})
  target_compile_definitions(${name} PRIVATE CONFORMANCE_DIR="${code_folder}")
  target_link_libraries(${name} PRIVATE d4r_options ${CMOCKA_LIBRARIES} ${CMAKE_DL_LIBS} Threads::Threads m)
  add_dependencies(${name} hipemu)
endfunction()

hipemu_test(hipemu_api_test ${tests}/api_test.c)
add_test(NAME hipemu_api COMMAND hipemu_api_test)
set_tests_properties(hipemu_api PROPERTIES LABELS "hipemu;tsan" TIMEOUT 600)

if(NOT HIPEMU_CLANG)
  message(STATUS "hipemu: no clang >= 19: conformance and launch tests are left out")
  return()
endif()

set(code_objects)
set(device_flags -x hip --cuda-device-only --no-gpu-bundle-output -nogpulib -nogpuinc -ffp-contract=off
    # f32 atomic adds as instructions: the loop that clang makes otherwise starts with a plain load, which races.
    -munsafe-fp-atomics)
# hipemu_code(source arch level): one code object SOURCE-ARCH-LEVEL.hsaco.
function(hipemu_code source arch level)
  get_filename_component(name ${source} NAME_WE)
  string(SUBSTRING ${arch} 3 2 class)
  set(output ${code_folder}/${name}-${arch}-${level}.hsaco)
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${HIPEMU_CLANG} ${device_flags} --offload-arch=${arch} -${level} -DHIPEMU_CLASS=${class} ${source} -o ${output}
    DEPENDS ${source} ${conformance}/device.h
    COMMENT "${name} ${arch} ${level}"
    VERBATIM)
  set(code_objects ${code_objects} ${output} PARENT_SCOPE)
endfunction()

# Without D4R_DEVICE_TESTS (sanitizer builds) only the API layer is tested: with the two files of plain kernels.
set(conformance_files integer floating half cross lds flow wmma)
if(D4R_DEVICE_TESTS)
foreach(arch gfx1100 gfx1151 gfx1200 gfx1201)
  foreach(level O0 O1 O3)
    foreach(file ${conformance_files} dense)
      hipemu_code(${conformance}/${file}.hip ${arch} ${level})
    endforeach()
    if(arch MATCHES gfx12)
      hipemu_code(${conformance}/fp8.hip ${arch} ${level})
    endif()
  endforeach()
endforeach()
set(conformance_objects ${code_objects})
endif()
hipemu_code(${tests}/plain.hip gfx1100 O2)
hipemu_code(${tests}/plain.hip gfx1201 O2)
add_custom_target(hipemu_test_code ALL DEPENDS ${code_objects})

pkg_check_modules(CJSON REQUIRED libcjson)
if(D4R_DEVICE_TESTS)
# The host builds: one a class, because WMMA layouts differ. f16 arithmetic rounds after every operation.
foreach(class 11 12)
  set(host_objects)
  foreach(file ${conformance_files} fp8)
    set(object ${code_folder}/${file}-host-${class}.o)
    add_custom_command(
      OUTPUT ${object}
      COMMAND ${HIPEMU_CLANG} -x c++ -std=c++17 -O1 -fPIC -ffp-contract=off -Xclang -ffloat16-excess-precision=none
              -fno-exceptions -fno-rtti -Wno-psabi -DHIPEMU_CLASS=${class} -c ${conformance}/${file}.hip -o ${object}
      DEPENDS ${conformance}/${file}.hip ${conformance}/device.h
      COMMENT "${file} for the host, class ${class}"
      VERBATIM)
    list(APPEND host_objects ${object})
  endforeach()
  # host_run.c without the sanitizers: they do not follow coroutines.
  add_library(hipemu_host_run_${class} STATIC ${conformance}/host_run.c ${host_objects})
  target_compile_definitions(hipemu_host_run_${class} PRIVATE _GNU_SOURCE)
  set_source_files_properties(${host_objects} PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
  hipemu_test(hipemu_conformance_${class} ${conformance}/conformance_test.c)
  target_compile_definitions(hipemu_conformance_${class} PRIVATE HIPEMU_CLASS=${class})
  target_link_libraries(hipemu_conformance_${class} PRIVATE hipemu_host_run_${class})
  add_dependencies(hipemu_conformance_${class} hipemu_test_code)
endforeach()

foreach(arch gfx1100 gfx1151 gfx1200 gfx1201)
  string(SUBSTRING ${arch} 3 2 class)
  add_test(NAME hipemu_conformance_${arch} COMMAND hipemu_conformance_${class} ${arch})
  set(counts ${CMAKE_CURRENT_BINARY_DIR}/counts-${arch}.json)
  set_tests_properties(hipemu_conformance_${arch} PROPERTIES LABELS hipemu TIMEOUT 3600 ENVIRONMENT CONFORMANCE_COUNTS=${counts}
                       FIXTURES_SETUP hipemu_counts)
  list(APPEND all_counts ${counts})
endforeach()

# Every mnemonic in the conformance kernels was executed by the tests above.
add_executable(hipemu-coverage ${tests}/coverage.c)
target_link_libraries(hipemu-coverage PRIVATE d4r_options hipemu_core ${CJSON_LIBRARIES})
add_test(NAME hipemu_coverage COMMAND hipemu-coverage ${all_counts} -- ${conformance_objects})
set_tests_properties(hipemu_coverage PROPERTIES LABELS hipemu TIMEOUT 60 FIXTURES_REQUIRED hipemu_counts)

endif()

hipemu_test(hipemu_launch_test ${tests}/launch_test.c)
target_link_libraries(hipemu_launch_test PRIVATE ${CJSON_LIBRARIES})
add_dependencies(hipemu_launch_test hipemu_test_code)
add_test(NAME hipemu_launch COMMAND hipemu_launch_test)
set_tests_properties(hipemu_launch PROPERTIES LABELS "hipemu;tsan" TIMEOUT 300)

add_executable(hipemu_model_test ${tests}/model_test.c $<TARGET_OBJECTS:hipemu_counts>)
target_include_directories(hipemu_model_test PRIVATE ${CMOCKA_INCLUDE_DIRS})
target_link_libraries(hipemu_model_test PRIVATE d4r_options hipemu_core ${CMOCKA_LIBRARIES})
add_test(NAME hipemu_model COMMAND hipemu_model_test)
set_tests_properties(hipemu_model PROPERTIES LABELS hipemu TIMEOUT 300)

if(D4R_BUILD_TOOLS)
  add_test(NAME hipemu_run COMMAND ${tests}/run_test.sh $<TARGET_FILE:hipemu-run> ${code_folder})
  set_tests_properties(hipemu_run PROPERTIES LABELS hipemu TIMEOUT 600)
endif()
