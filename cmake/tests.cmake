# One gtest binary per folder of tests/ (tests/ops -> build/tests/ops_test), run in the source folder: as one ctest entry,
# since a process that opens a GPU pays for it once, or where that is long as several that share the tests out.
# Suites called Long* run in entries of their own (long.ops, label "long"), which `make test` leaves to `make test-long`.
# The label "threaded" marks what also runs under TSan; the target threaded_tests builds just that. "kernels" marks what
# depends on the processor and so runs under an emulator as well (tools/test-cross); kernel_tests builds that.
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

set(threaded_folders base cpu data http look serve world capi)
set(low_folders base cpu data)  # these link only their own folder and what is below it
# Which suites: all that are not long. Under TSan those with several threads; worlds of several processes are not built there.
if(ATTEND_SANITIZE STREQUAL "thread")
  set(only_look "LookServer.*:ModelRegistries.*")
  set(only_serve "Serve.*:ServeAlone.*:ServeHostile.*:Limits.*:Leaving.*")
  set(only_world "CommThreads.*:Sums.*:Buckets.*:OneBatch.*:SharedBatchNorm.*:Weights.*:Agreement.*")
endif()
set(long "Long*:*/Long*")
# Under ASan one killed run of a model and one of two models that take turns; the others are resumed inside of a process by
# TrainLook, TrainDetection and TrainCaptions.
if(ATTEND_SANITIZE STREQUAL "address")
  foreach(model transformer rnnattention maskedlm classify classifyimages detect)
    string(APPEND long_train ":*/Resume.*/${model}")
  endforeach()
endif()
add_custom_target(threaded_tests)
# Left out: what no instruction shows in (metrics, view), and what needs libraries that a cross build goes without (image).
set(kernel_folders base tensor cpu ops nn decode models text data checkpoint catalogue tasks capi fixtures)
add_custom_target(kernel_tests)
add_custom_target(tests)
file(GLOB folders CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/tests ${PROJECT_SOURCE_DIR}/tests/*)
set(tests_link $<TARGET_NAME_IF_EXISTS:attend_cli> $<TARGET_NAME_IF_EXISTS:attend_api> $<TARGET_NAME_IF_EXISTS:attend_layers> $<TARGET_NAME_IF_EXISTS:attend_capi> $<TARGET_NAME_IF_EXISTS:attend_backends> attend_everything)

# So many entries that none should take more than two minutes on two cores under ASan, and the limit is ten times that for a
# busy machine. Chosen from the processor time of the Release build (train 19 s, ops 13 s, text 6 s, models 4 s, cpu 3 s).
set(shards_train 10)
set(shards_models 4)
set(shards_ops 4)
set(shards_text 3)
set(shards_cpu 3)
set(shards_tasks 2)
set(limit 1200)  # seconds
if(CMAKE_CROSSCOMPILING)
  set(limit 5400)  # under an emulator
endif()

# tests/invariance runs once on each kernel set, by ATTEND_CPU; one that the machine lacks is the next best that it has.
# The plain one is slow, and sanitizers see the same code in other tests.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64|amd64")
  set(kernel_sets avx2 avx512 avx512_bf16 amx)
else()
  set(kernel_sets neon neon_dot neon_bf16 neon_i8mm)
endif()

# attend_entry(train.2 train_test LABELS .. ENVIRONMENT VARIABLE=VALUE..): one entry.
function(attend_entry name target)
  cmake_parse_arguments(arg "" "" "LABELS;ENVIRONMENT" ${ARGN})
  # Entries run side by side, so each has a place of its own for its files.
  set(scratch ${PROJECT_BINARY_DIR}/tests/scratch/${name})
  file(MAKE_DIRECTORY ${scratch})
  set(environment ${arg_ENVIRONMENT} TMPDIR=${scratch} TEST_TMPDIR=${scratch})
  if(CMAKE_CROSSCOMPILING_EMULATOR)  # for tests that start the program
    list(JOIN CMAKE_CROSSCOMPILING_EMULATOR " " emulator)
    list(APPEND environment "ATTEND_EMULATOR=${emulator}")
  endif()
  add_test(NAME ${name} COMMAND ${target} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(${name} PROPERTIES TIMEOUT ${limit} ENVIRONMENT "${environment}" LABELS "${arg_LABELS}")
endfunction()

# attend_entries(train train "-Long*" LABELS ..): the entries train.1, train.2, .. of train_test, or one called train, of the tests
# that the filter lets through.
function(attend_entries folder entry filter)
  cmake_parse_arguments(arg "" "" "LABELS" ${ARGN})
  set(shards 1)
  if(DEFINED shards_${folder})
    set(shards ${shards_${folder}})
  endif()
  foreach(shard RANGE 1 ${shards})
    set(name ${entry})
    if(shards GREATER 1)
      set(name ${entry}.${shard})
    endif()
    math(EXPR index "${shard} - 1")
    attend_entry(${name} ${folder}_test LABELS ${arg_LABELS}
                 ENVIRONMENT GTEST_FILTER=${filter} GTEST_TOTAL_SHARDS=${shards} GTEST_SHARD_INDEX=${index})
    if(shards GREATER 1)  # the longest begin first, so that none is left to run alone
      set_tests_properties(${name} PROPERTIES COST ${shards})
    endif()
  endforeach()
endfunction()

function(attend_test folder)
  set(labels)
  if(folder IN_LIST threaded_folders)
    list(APPEND labels threaded)
  endif()
  if(folder IN_LIST kernel_folders)
    list(APPEND labels kernels)
  endif()
  if(folder STREQUAL "invariance")
    foreach(set ${kernel_sets} generic)
      if(set STREQUAL "generic" OR ATTEND_SANITIZE)
        attend_entry(long.${folder}.${set} ${folder}_test LABELS long ENVIRONMENT ATTEND_CPU=${set})
      else()
        attend_entry(${folder}.${set} ${folder}_test ENVIRONMENT ATTEND_CPU=${set})
      endif()
    endforeach()
    return()
  endif()
  attend_entries(${folder} ${folder} "${only_${folder}}-${long}${long_${folder}}" LABELS ${labels})
  attend_entries(${folder} long.${folder} "${long}${long_${folder}}" LABELS long)
endfunction()

foreach(folder ${folders})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/${folder}/*.cpp)
  set(cases ${sources})
  list(FILTER cases INCLUDE REGEX "_test\\.cpp$")
  if(NOT cases OR (folder STREQUAL "cuda" AND NOT ATTEND_WITH_CUDA))
    continue()
  endif()
  set(target ${folder}_test)
  add_executable(${target} ${sources})
  if(folder STREQUAL "ops" AND ATTEND_SANITIZE)  # a reference of plain loops, which was most of the time of all ops
    set_source_files_properties(${PROJECT_SOURCE_DIR}/tests/ops/attention_reference.cpp PROPERTIES
                                COMPILE_OPTIONS "-O2;-fno-sanitize=all")
  endif()
  # Runs a kernel on the CPU, thread by thread: five times as long without optimisation, so there is less of it under
  # sanitizers. Ubuntu's g++ then checks longjmp, which takes a jump to another stack for an error.
  if(folder STREQUAL "decode")
    set_source_files_properties(${PROJECT_SOURCE_DIR}/tests/decode/many_rows_test.cpp PROPERTIES
                                COMPILE_OPTIONS "-O1;-U_FORTIFY_SOURCE"
                                COMPILE_DEFINITIONS ATTEND_TEST_SANITIZED=$<BOOL:${ATTEND_SANITIZE}>)
  endif()
  # Memory that fails on command; TSan has an operator new of its own.
  if(folder STREQUAL "memory" OR (folder MATCHES "^(http|look|serve)$" AND NOT ATTEND_SANITIZE STREQUAL "thread"))
    target_sources(${target} PRIVATE attend/cli/operator_new.cpp)
  endif()
  attend_configure(${target})
  target_link_libraries(${target} PRIVATE attend_test_flags)
  # Tests compile three times as fast without optimisation (under sanitizers up to seven times), and only these compute
  # references of their own. Linked, not set: behind attend_flags, so that it wins under sanitizers, too.
  if(folder MATCHES "^(ops|cpu)$" OR (folder MATCHES "^(text|models|data)$" AND NOT ATTEND_SANITIZE))
    target_compile_options(${target} PRIVATE -O1)
  else()
    target_link_libraries(${target} PRIVATE attend_unoptimised)
  endif()
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  if(folder IN_LIST low_folders)
    target_link_libraries(${target} PRIVATE attend_${folder} attend_gtest)
  else()
    target_link_libraries(${target} PRIVATE ${tests_link} attend_gtest)
  endif()
  attend_test(${folder})
  add_dependencies(tests ${target})
  if(folder STREQUAL "world" AND NOT ATTEND_SANITIZE STREQUAL "thread")  # starts the program, which opens these
    foreach(needed attend attend_mpi attend_mpich attend_nccl)
      if(TARGET ${needed})
        add_dependencies(${target} ${needed})
      endif()
    endforeach()
  endif()
  if(folder IN_LIST threaded_folders)
    add_dependencies(threaded_tests ${target})
  endif()
  if(folder IN_LIST kernel_folders)
    add_dependencies(kernel_tests ${target})
  endif()
endforeach()
