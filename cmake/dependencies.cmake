# Debian's packages, each behind a name of ours so that a cross build can swap what it needs.
set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)

function(attend_header_library name header package)
  find_path(${name}_dir ${header} PATHS /usr/include NO_CMAKE_FIND_ROOT_PATH)
  if(NOT ${name}_dir)
    message(FATAL_ERROR "<${header}> was not found: install ${package} (or run tools/setup)")
  endif()
  add_library(${name} INTERFACE)
  if(NOT ${name}_dir STREQUAL "/usr/include")
    target_include_directories(${name} SYSTEM INTERFACE ${${name}_dir})
  endif()
endfunction()

attend_header_library(attend_cli11 CLI/CLI.hpp libcli11-dev)
attend_header_library(attend_fmt fmt/core.h libfmt-dev)
if(CMAKE_CROSSCOMPILING OR CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # The library beside it is the host's, or spells one of its templates as g++ does and clang (the fuzzers') does not.
  target_compile_definitions(attend_fmt INTERFACE FMT_HEADER_ONLY=1)
else()
  find_package(fmt REQUIRED)
  target_link_libraries(attend_fmt INTERFACE fmt::fmt)
endif()

# zlib reads compressed text and writes pictures. A cross build goes without: the library beside it is the host's.
add_library(attend_zlib INTERFACE)
if(CMAKE_CROSSCOMPILING)
  target_compile_definitions(attend_zlib INTERFACE ATTEND_WITHOUT_ZLIB)
else()
  find_package(ZLIB REQUIRED)
  target_link_libraries(attend_zlib INTERFACE ZLIB::ZLIB)
endif()
