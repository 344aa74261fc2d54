# attend for other programs: libattend.a and, with ATTEND_SHARED, libattend.so, made of the objects of the folders that
# attend/attend.h, attend/nn.h and attend/c.h stand on; and what `make install` puts where. docs/api.md says how it is used.
#   attend::attend   the shared library where it is built, else the static one
#   attend::static   the static one
include(CMakePackageConfigHelpers)

get_property(library_folders GLOBAL PROPERTY attend_library_folders)
get_property(library_objects DIRECTORY PROPERTY BUILDSYSTEM_TARGETS)
list(FILTER library_objects INCLUDE REGEX "^attend_(image_)?rows_")  # loops compiled for each instruction set
list(APPEND library_objects attend_backends_opening)
foreach(folder ${library_folders})
  get_target_property(kind attend_${folder} TYPE)
  if(NOT kind STREQUAL "INTERFACE_LIBRARY")  # of headers alone
    list(APPEND library_objects attend_${folder})
  endif()
endforeach()
if(TARGET attend_fmt_compiled)
  list(APPEND library_objects attend_fmt_compiled)
endif()
list(TRANSFORM library_objects REPLACE "(.+)" "$<TARGET_OBJECTS:\\1>")

# What stands behind the headers: fmt, threads; and what only the code of the library calls.
set(library_calls ZLIB::ZLIB ${CMAKE_DL_LIBS})
if(CMAKE_CROSSCOMPILING)
  set(library_calls)
endif()
foreach(name jpeg png webp)
  if(attend_${name}_library AND attend_${name}_dir)
    list(APPEND library_calls ${name})
  endif()
endforeach()

function(attend_library target kind)
  add_library(${target} ${kind} ${ARGN})
  set_target_properties(${target} PROPERTIES OUTPUT_NAME attend LINKER_LANGUAGE CXX)
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
                                              $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(${target} PUBLIC Threads::Threads PRIVATE ${library_calls} $<BUILD_INTERFACE:attend_flags>)
  if(TARGET fmt::fmt)
    target_link_libraries(${target} PUBLIC fmt::fmt)
  else()
    target_compile_definitions(${target} PUBLIC FMT_HEADER_ONLY=1)
  endif()
endfunction()

attend_library(attend_static STATIC ${library_objects})
set_target_properties(attend_static PROPERTIES EXPORT_NAME static)
add_library(attend::static ALIAS attend_static)
set(installed_libraries attend_static)
if(ATTEND_SHARED)
  attend_library(attend_shared SHARED ${library_objects})
  # The C++ API may change with every 0.x; the file of exports is the list of what is seen from outside.
  set_target_properties(attend_shared PROPERTIES EXPORT_NAME attend
    VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
    LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/exports.map)
  target_link_options(attend_shared PRIVATE -Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/exports.map
                                            -Wl,-Bsymbolic -Wl,--no-undefined -Wl,--gc-sections)
  add_library(attend::attend ALIAS attend_shared)
  list(APPEND installed_libraries attend_shared)
else()
  set_target_properties(attend_static PROPERTIES EXPORT_NAME attend)
  add_library(attend::attend ALIAS attend_static)
endif()
if(NOT PROJECT_IS_TOP_LEVEL)
  return()  # whoever builds it as a part of something else installs that
endif()

# ---- Libraries, headers, and what finds them.
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/attend)
install(TARGETS ${installed_libraries} EXPORT attend COMPONENT development
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library NAMELINK_COMPONENT development)
install(EXPORT attend NAMESPACE attend:: FILE attend-targets.cmake DESTINATION ${package_dir} COMPONENT development)
set(library_packages)
if(TARGET fmt::fmt)
  list(APPEND library_packages fmt)
endif()
if("ZLIB::ZLIB" IN_LIST library_calls)
  list(APPEND library_packages ZLIB)
endif()
set(models_dir ${CMAKE_INSTALL_DATADIR}/attend/models)
configure_package_config_file(cmake/attend-config.cmake.in ${PROJECT_BINARY_DIR}/generated/attend-config.cmake
                              INSTALL_DESTINATION ${package_dir} PATH_VARS models_dir)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/generated/attend-config-version.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/generated/attend-config.cmake
              ${PROJECT_BINARY_DIR}/generated/attend-config-version.cmake
        DESTINATION ${package_dir} COMPONENT development)
# The headers that attend/attend.h and attend/nn.h reach, and no others.
set(public_headers attend/attend.h attend/nn.h)
set(unread ${public_headers})
while(unread)
  list(POP_FRONT unread header)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${header})
  file(STRINGS ${header} includes REGEX "^#include \"attend/")
  foreach(include ${includes})
    string(REGEX REPLACE ".*\"(.*)\".*" "\\1" include ${include})
    if(NOT include IN_LIST public_headers)
      list(APPEND public_headers ${include})
      list(APPEND unread ${include})
    endif()
  endforeach()
endwhile()
foreach(header ${public_headers} attend/c.h)
  cmake_path(GET header PARENT_PATH place)
  install(FILES ${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/${place} COMPONENT development)
endforeach()

set(static_links -lz)
if(CMAKE_CROSSCOMPILING)
  set(static_links)
endif()
foreach(name jpeg png webp)
  if(name IN_LIST library_calls)
    list(APPEND static_links -l${name})
  endif()
endforeach()
list(JOIN static_links " " static_links)
set(pc_links "-lattend")
if(NOT ATTEND_SHARED)
  set(pc_links "-lattend ${static_links} -lstdc++ -lm -pthread")
endif()
set(pc_requires "Requires: fmt")
set(pc_definitions "")
if(NOT TARGET fmt::fmt)
  set(pc_requires "")
  set(pc_definitions " -DFMT_HEADER_ONLY=1")
endif()
# From the file itself to the prefix, so that what is installed may be moved.
file(RELATIVE_PATH pc_up /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
configure_file(cmake/attend.pc.in ${PROJECT_BINARY_DIR}/generated/attend.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/generated/attend.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
        COMPONENT development)

# What is opened at run time (attend/base/plugin.h).
foreach(plugin attend_cuda_plugin attend_mpi attend_mpich attend_nccl)
  if(TARGET ${plugin})
    install(TARGETS ${plugin} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/attend COMPONENT plugins)
    list(APPEND installed_libraries ${plugin})
  endif()
endforeach()

# ---- The program, its models, its pages and completions.
if(TARGET attend)
  install(TARGETS attend COMPONENT program)
  install(DIRECTORY models DESTINATION ${CMAKE_INSTALL_DATADIR}/attend COMPONENT models)
  install(DIRECTORY labs DESTINATION ${CMAKE_INSTALL_DATADIR}/attend COMPONENT program PATTERN __pycache__ EXCLUDE)
  if(NOT CMAKE_CROSSCOMPILING)
    set(documents ${PROJECT_BINARY_DIR}/generated/documents)
    add_custom_command(OUTPUT ${documents}/man/attend.1 DEPENDS attend COMMENT "Writing manual pages and completions"
      COMMAND ${CMAKE_COMMAND} -E make_directory ${documents}/man ${documents}/completions
      COMMAND attend manual --out ${documents}/man
      COMMAND attend completions bash --out ${documents}/completions/attend
      COMMAND attend completions zsh --out ${documents}/completions/_attend
      COMMAND attend completions fish --out ${documents}/completions/attend.fish)
    add_custom_target(attend_documents ALL DEPENDS ${documents}/man/attend.1)
    install(DIRECTORY ${documents}/man/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT program)
    install(FILES ${documents}/completions/attend COMPONENT program
            DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
    install(FILES ${documents}/completions/_attend COMPONENT program
            DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
    install(FILES ${documents}/completions/attend.fish COMPONENT program
            DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
  endif()
endif()

# ninja installable: all that `cmake --install` looks for, and no test.
add_custom_target(installable)
add_dependencies(installable ${installed_libraries})
foreach(target attend attend_documents)
  if(TARGET ${target})
    add_dependencies(installable ${target})
  endif()
endforeach()
include(cmake/python.cmake OPTIONAL)
