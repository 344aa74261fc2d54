# One gtest binary a folder of tests/ (tests/ops -> build/tests/ops_test), one ctest entry each: a process that opens a
# GPU pays for it once. Tests run in the source folder.
# The label "threaded" marks what also runs under TSan; the target threaded_tests builds just that.
if(CMAKE_CROSSCOMPILING)
  # The installed library is the host's; Debian's libgtest-dev ships the source beside it.
  add_library(attend_gtest STATIC /usr/src/googletest/googletest/src/gtest-all.cc
                                  /usr/src/googletest/googletest/src/gtest_main.cc)
  target_include_directories(attend_gtest PRIVATE /usr/src/googletest/googletest)
  target_link_libraries(attend_gtest PUBLIC Threads::Threads)
else()
  find_package(GTest QUIET)
  if(NOT GTest_FOUND)
    message(STATUS "tests: left out, there is no GoogleTest here (tools/setup test installs it)")
    return()
  endif()
  add_library(attend_gtest INTERFACE)
  target_link_libraries(attend_gtest INTERFACE GTest::gtest_main)
endif()

set(threaded_folders base cpu data)  # these link only their own folder and what is below it, to keep the TSan build short
add_custom_target(threaded_tests)
add_custom_target(tests)
file(GLOB folders CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/tests ${PROJECT_SOURCE_DIR}/tests/*)
set(tests_link $<TARGET_NAME_IF_EXISTS:attend_cli> $<TARGET_NAME_IF_EXISTS:attend_backends> attend_everything)

set(limit 900)  # seconds
if(CMAKE_CROSSCOMPILING)
  set(limit 5400)  # under an emulator
endif()
foreach(folder ${folders})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/${folder}/*.cpp)
  set(cases ${sources})
  list(FILTER cases INCLUDE REGEX "_test\\.cpp$")
  if(NOT cases OR (folder STREQUAL "cuda" AND NOT ATTEND_WITH_CUDA))
    continue()
  endif()
  set(target ${folder}_test)
  add_executable(${target} ${sources})
  attend_configure(${target})
  target_link_libraries(${target} PRIVATE attend_test_flags)
  if(NOT folder MATCHES "^(ops|cpu|text|models)$")  # these compute references of their own
    target_link_libraries(${target} PRIVATE attend_cold)
  endif()
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  if(folder IN_LIST threaded_folders)
    target_link_libraries(${target} PRIVATE attend_${folder} attend_gtest)
  else()
    target_link_libraries(${target} PRIVATE ${tests_link} attend_gtest)
  endif()
  add_test(NAME ${folder} COMMAND ${target} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(${folder} PROPERTIES TIMEOUT ${limit})
  if(CMAKE_CROSSCOMPILING_EMULATOR)  # for tests that start the program
    list(JOIN CMAKE_CROSSCOMPILING_EMULATOR " " emulator)
    set_tests_properties(${folder} PROPERTIES ENVIRONMENT "ATTEND_EMULATOR=${emulator}")
  endif()
  if(folder MATCHES "^(train|models|text|ops|cpu)$")  # the longest begin first, so that none is left to run alone
    set_tests_properties(${folder} PROPERTIES COST 10)
  endif()
  if(folder STREQUAL "train")
    set_tests_properties(${folder} PROPERTIES COST 20)
  endif()
  add_dependencies(tests ${target})
  if(folder IN_LIST threaded_folders)
    set_tests_properties(${folder} PROPERTIES LABELS threaded)
    add_dependencies(threaded_tests ${target})
  endif()
endforeach()
