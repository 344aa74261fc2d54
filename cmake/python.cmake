# The Python module, where pybind11 is (tools/setup python) and objects may go into a shared library: build/python/attend
# is a package that can be imported (PYTHONPATH=build/python), `make wheel` makes a wheel of it.
if(NOT ATTEND_SHARED OR CMAKE_CROSSCOMPILING)
  return()
endif()
# Debian's numpy and pybind11 are for Debian's Python, which need not be the first one found.
if(NOT Python3_EXECUTABLE AND EXISTS /usr/bin/python3)
  set(Python3_EXECUTABLE /usr/bin/python3)
endif()
find_package(Python3 QUIET COMPONENTS Interpreter Development.Module)
set(PYBIND11_NOPYTHON ON)
find_package(pybind11 QUIET CONFIG)
if(NOT Python3_FOUND OR NOT pybind11_FOUND)
  message(STATUS "Python module: left out, there is no pybind11 here (tools/setup python installs it)")
  return()
endif()
set(python_package ${PROJECT_BINARY_DIR}/python/attend)
add_library(attend_python MODULE python/module.cpp python/layers.cpp)
target_include_directories(attend_python PRIVATE ${PROJECT_SOURCE_DIR})
set_source_files_properties(python/layers.cpp PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)  # beside module.cpp, not after it
attend_configure(attend_python)
set_target_properties(attend_python PROPERTIES PREFIX "" OUTPUT_NAME _attend CXX_VISIBILITY_PRESET hidden
                      SUFFIX ".cpython-${Python3_VERSION_MAJOR}${Python3_VERSION_MINOR}-${CMAKE_LIBRARY_ARCHITECTURE}.so"
                      LIBRARY_OUTPUT_DIRECTORY ${python_package})
# The static library, so that a wheel needs no libattend.so beside it; and nothing of it is seen from outside.
target_link_libraries(attend_python PRIVATE attend_static pybind11::headers Python3::Module)
target_link_options(attend_python PRIVATE -Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/python_exports.map
                                          -Wl,--gc-sections)
file(GLOB python_files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/python/attend/*)
set_property(TARGET attend_python PROPERTY LINK_DEPENDS ${python_files})  # so that a changed .py is copied, too
add_custom_command(TARGET attend_python POST_BUILD
  COMMAND ${CMAKE_COMMAND} -E copy ${python_files} ${python_package})
add_dependencies(installable attend_python)
set(python_dir lib/python3/dist-packages CACHE STRING "Where the Python module is installed, under the prefix")
install(DIRECTORY ${python_package} DESTINATION ${python_dir} COMPONENT python)
if(ATTEND_TESTS)
  add_test(NAME python COMMAND ${Python3_EXECUTABLE} python/tests/run.py ${PROJECT_BINARY_DIR}/python
           $<TARGET_FILE:attend> WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(python PROPERTIES TIMEOUT 600 SKIP_RETURN_CODE 77)
endif()
