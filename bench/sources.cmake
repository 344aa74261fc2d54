# bench/ops.cpp times the case list of the op tests: all of tests/ops that is neither a test nor made of GoogleTest, so
# that what the cases call is found without being named here, and links where there are no tests.
if(TARGET bench_ops)
  file(GLOB op_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/ops/*.cpp)
  list(FILTER op_sources EXCLUDE REGEX "_test\\.cpp$")
  foreach(source ${op_sources})
    string(REGEX REPLACE "cpp$" "h" header ${source})
    set(tests_with "")
    if(EXISTS ${header})
      file(STRINGS ${header} tests_with REGEX "gtest/gtest.h")
    endif()
    if(NOT tests_with)
      target_sources(bench_ops PRIVATE ${source})
    endif()
  endforeach()
endif()

if(TARGET bench_layers)  # the library for programs, which the program itself does not need
  target_link_libraries(bench_layers PRIVATE attend_layers)
endif()

# The load generator speaks HTTP with Boost.Beast, as attend/http does.
if(TARGET bench_load)
  target_link_libraries(bench_load PRIVATE attend_boost)
endif()
