# Compiler flags for every target.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_CXX_SCAN_FOR_MODULES OFF)
# -O2 for the many files where speed is not decided (they compile faster), and other flags for the kernels of
# attend/cpu: on arm64 g++ moves loads up to hide latency, and then has no registers left for a kernel's sums. The
# processor finds the loads by itself (products of 8 rows in f32: 15 GB/s with, 28 without, on a Neoverse-V1).
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
set(ATTEND_KERNEL_FLAGS -O3 $<$<CXX_COMPILER_ID:GNU>:-fno-schedule-insns>)

# Several files of a folder in one go, which read their headers once: half the time of a first build. `make clang` and
# clang-tidy compile each file alone, so that none lives on what another one includes.
set(CMAKE_UNITY_BUILD ${ATTEND_UNITY})
set(CMAKE_UNITY_BUILD_BATCH_SIZE 12)

add_library(attend_flags INTERFACE)
target_include_directories(attend_flags INTERFACE ${PROJECT_SOURCE_DIR})
# -Wno-restrict: GCC 12 sees overlap in "x" + std::string() where there is none (its bug 105651). clang complains of what
# std::stable_sort of GCC 12's library calls.
target_compile_options(attend_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra>
                                              $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-restrict>
                                              $<$<COMPILE_LANG_AND_ID:CXX,Clang>:-Wno-deprecated-declarations>)
if(ATTEND_WERROR)
  target_compile_options(attend_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Werror>)
endif()
# A program that never touches the GPU does not load cuBLASLt.
if(NOT EMSCRIPTEN)
  target_link_options(attend_flags INTERFACE -Wl,--as-needed)
endif()
# Addresses in tables of functions and names: a bit each instead of 24 bytes, where linker and C library (glibc 2.36) can.
include(CheckLinkerFlag)
check_linker_flag(CXX -Wl,--fatal-warnings,-z,pack-relative-relocs ATTEND_PACKED_RELOCATIONS)
if(ATTEND_PACKED_RELOCATIONS AND NOT EMSCRIPTEN)
  target_link_options(attend_flags INTERFACE -Wl,-z,pack-relative-relocs)
endif()

if(ATTEND_SANITIZE STREQUAL "address")  # with clang also libFuzzer's programs, cmake/fuzz.cmake
  # ASan sees what the three would, and they are a quarter of the time to compile; ATTEND_COVERAGE asks them of readers.
  set(costly -fno-sanitize=null,object-size,pointer-overflow)
  set(sanitize -fsanitize=address,undefined $<$<NOT:$<BOOL:${ATTEND_COVERAGE}>>:${costly}> -fno-sanitize-recover=all)
elseif(ATTEND_SANITIZE STREQUAL "thread")
  set(sanitize -fsanitize=thread)
elseif(NOT ATTEND_SANITIZE STREQUAL "")
  message(FATAL_ERROR "ATTEND_SANITIZE is '${ATTEND_SANITIZE}': it takes address, thread or nothing")
endif()
if(sanitize)
  # After the Release flags, so -O1 wins: a third of the compile time of -O2, and readable stacks. -Wno-error: with
  # sanitizers GCC 12 warns about initialisation and bounds in code that is fine; the plain build has the last word.
  target_compile_options(attend_flags INTERFACE ${sanitize} -O1 -g1 -fno-omit-frame-pointer -Wno-error)
  target_link_options(attend_flags INTERFACE ${sanitize})
  check_linker_flag(CXX -fuse-ld=lld ATTEND_LLD)  # a quarter of the time: 40 programs of 130 MB
  if(ATTEND_LLD)
    target_link_options(attend_flags INTERFACE -fuse-ld=lld)
  endif()
  set(ATTEND_CUDA OFF)
endif()
# One set of objects for programs and for libattend.so. That costs nothing that could be measured: names are not up to
# others to replace, so calls stay direct. What nobody calls is left out when linking.
add_library(attend_library_flags INTERFACE)
if(NOT ATTEND_SANITIZE)
  target_compile_options(attend_library_flags INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:$<$<NOT:$<BOOL:${EMSCRIPTEN}>>:-fno-semantic-interposition>;-ffunction-sections>)
  target_link_options(attend_flags INTERFACE -Wl,--gc-sections)
endif()
# Linked behind attend_flags, so that these win.
add_library(attend_small INTERFACE)  # a third smaller and faster to compile, where kernels of others do the work
if(NOT ATTEND_SANITIZE)
  target_compile_options(attend_small INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Os>)
endif()
add_library(attend_unoptimised INTERFACE)
target_compile_options(attend_unoptimised INTERFACE -O0)
add_library(attend_cold INTERFACE)  # where no time is spent, optimising for sanitizers costs more than it gains
add_library(attend_test_flags INTERFACE)  # UBSan watches the library; in the tests it would only double their compile time
add_library(attend_kernel_checks INTERFACE)  # in kernels the check of every load's alignment doubles the time to compile
if(ATTEND_SANITIZE)
  target_link_libraries(attend_cold INTERFACE attend_unoptimised)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
  # clang 14 does not heed .arch in a function's assembly.
  target_compile_options(attend_kernel_checks INTERFACE -march=armv8-a+dotprod+bf16+i8mm)
endif()
if(ATTEND_SANITIZE STREQUAL "address")
  target_compile_options(attend_kernel_checks INTERFACE -fno-sanitize=alignment $<$<BOOL:${ATTEND_COVERAGE}>:${costly}>)
  target_compile_options(attend_test_flags INTERFACE -fno-sanitize=undefined)
  target_compile_definitions(attend_test_flags INTERFACE ATTEND_ASAN)
endif()
