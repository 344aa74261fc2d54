# bench/ops.cpp times the case list of the op tests.
if(TARGET bench_ops)
  file(GLOB op_cases CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/ops/cases*.cpp)
  target_sources(bench_ops PRIVATE ${op_cases} ${PROJECT_SOURCE_DIR}/tests/ops/attention_reference.cpp
                                   ${PROJECT_SOURCE_DIR}/tests/ops/runner.cpp)
endif()
