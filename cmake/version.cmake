# Writes build/generated/git_version.h on every build, and touches it only when `git describe` says something new.
# Run two ways: included by CMakeLists.txt, and as a script (cmake -P) by the target it makes.
if(CMAKE_SCRIPT_MODE_FILE)
  cmake_minimum_required(VERSION 3.25)
  execute_process(COMMAND git describe --always --dirty --tags WORKING_DIRECTORY ${SOURCE_DIR}
                  OUTPUT_VARIABLE describe OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
  if(failed)
    set(describe "")
  endif()
  file(CONFIGURE OUTPUT ${HEADER} CONTENT "#define ATTEND_GIT_VERSION \"@describe@\"\n" @ONLY)
  return()
endif()

if(TARGET attend_cli)
  set(header ${PROJECT_BINARY_DIR}/generated/git_version.h)
  add_custom_target(attend_git_version BYPRODUCTS ${header}
    COMMAND ${CMAKE_COMMAND} -D SOURCE_DIR=${PROJECT_SOURCE_DIR} -D HEADER=${header} -P ${CMAKE_CURRENT_LIST_FILE})
  add_dependencies(attend_cli attend_git_version)
  target_include_directories(attend_cli PRIVATE ${PROJECT_BINARY_DIR}/generated)
  target_compile_definitions(attend_cli PRIVATE ATTEND_VERSION="${PROJECT_VERSION}")
endif()
if(TARGET attend_capi)
  target_compile_definitions(attend_capi PRIVATE ATTEND_VERSION="${PROJECT_VERSION}")
endif()
