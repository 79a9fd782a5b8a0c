# Checks the project's includes against the folder diagram of docs/architecture.md:
#   cmake -DROOT=<source folder> -P check_includes.cmake
# Every #include "..." is resolved (from the root, from include/, or beside the including file); one that leaves its
# folder for a folder that the rules do not name is an error.

# <folder>: <what it may include>. The longest folder that matches a file counts. "*": anything.
set(rules
  "include/d4r: include/d4r"
  "runtime/base: include/d4r runtime/base"
  "interop: include/d4r runtime/base interop"
  "vk_stages: include/d4r runtime/base vk_stages models/format/m_layout.h models/format/k_layout.h"
  # The launcher goes through the HIP table, which is of interop.
  "hip_kernels: include/d4r runtime/base hip_kernels models/format/m_layout.h models/format/k_layout.h interop/hip.h interop/hip_api.h"
  "models: include/d4r runtime/base models"
  "models/tests: *"
  "runtime: include/d4r runtime/base runtime interop vk_stages hip_kernels models -runtime/cli"
  "runtime/cli: include/d4r runtime/base runtime/cli"
  "runtime/cli/d4r_model.c: include/d4r runtime/base runtime/cli models/format"
  "runtime/cli/d4r_net.c: include/d4r runtime/base runtime/cli models/format hip_kernels interop"
  "runtime/cli/hip_probe.c: include/d4r runtime/base runtime/cli hip_kernels interop"
  "runtime/cli/hip_probe.h: include/d4r runtime/base runtime/cli interop"
  "tests: *"
  "bench: *"
  "tools: *"
  "examples: include/d4r examples")

function(rule_for path out)
  set(best)
  set(best_length -1)
  foreach(rule IN LISTS rules)
    string(REGEX MATCH "^([^:]+): (.*)$" matched "${rule}")
    set(folder ${CMAKE_MATCH_1})
    set(allowed ${CMAKE_MATCH_2})
    string(LENGTH ${folder} length)
    if(("${path}" STREQUAL "${folder}" OR "${path}" MATCHES "^${folder}/") AND length GREATER best_length)
      set(best ${allowed})
      set(best_length ${length})
    endif()
  endforeach()
  set(${out} "${best}" PARENT_SCOPE)
endfunction()

# Path of an included file from the root; empty for what is not the project's.
function(resolve file include out)
  get_filename_component(folder ${file} DIRECTORY)
  set(found)
  foreach(candidate "${include}" "include/${include}" "${folder}/${include}")
    if(NOT found AND EXISTS "${ROOT}/${candidate}")
      get_filename_component(full "${ROOT}/${candidate}" REALPATH)
      file(RELATIVE_PATH found "${ROOT}" "${full}")
    endif()
  endforeach()
  set(${out} "${found}" PARENT_SCOPE)
endfunction()

function(may_include allowed target out)
  set(${out} FALSE PARENT_SCOPE)
  separate_arguments(allowed)
  set(longest -1)
  foreach(item IN LISTS allowed)
    set(verdict TRUE)
    if(item MATCHES "^-(.*)$")
      set(verdict FALSE)
      set(item ${CMAKE_MATCH_1})
    endif()
    string(LENGTH "${item}" length)
    if(item STREQUAL "*")
      set(${out} TRUE PARENT_SCOPE)
    elseif(("${target}" STREQUAL "${item}" OR "${target}" MATCHES "^${item}/") AND length GREATER longest)
      set(longest ${length})
      set(${out} ${verdict} PARENT_SCOPE)
    endif()
  endforeach()
endfunction()

get_filename_component(ROOT "${ROOT}" REALPATH)
set(folders include/d4r runtime interop vk_stages hip_kernels models examples)
set(globs)
foreach(folder IN LISTS folders)
  foreach(extension c h glsl comp def hip)
    list(APPEND globs "${ROOT}/${folder}/*.${extension}")
  endforeach()
endforeach()
file(GLOB_RECURSE files RELATIVE "${ROOT}" ${globs})
set(errors 0)
set(count 0)
foreach(file IN LISTS files)
  rule_for(${file} allowed)
  file(STRINGS "${ROOT}/${file}" lines REGEX "^[ \t]*#[ \t]*include[ \t]*[\"<]")
  foreach(line IN LISTS lines)
    string(REGEX MATCH "[\"<]([^\">]+)[\">]" matched "${line}")
    resolve(${file} "${CMAKE_MATCH_1}" target)
    if(NOT target)
      continue()
    endif()
    math(EXPR count "${count} + 1")
    may_include("${allowed}" "${target}" ok)
    if(NOT ok)
      message(SEND_ERROR "${file} may not include ${target}: it may only use ${allowed} (docs/architecture.md)")
      math(EXPR errors "${errors} + 1")
    endif()
  endforeach()
endforeach()
if(errors GREATER 0)
  message(FATAL_ERROR "${errors} includes against the folder diagram")
endif()
if(STAMP)
  file(WRITE "${STAMP}" "${count} includes checked\n")
endif()
message(STATUS "${count} project includes checked")
