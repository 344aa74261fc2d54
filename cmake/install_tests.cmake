# One entry that installs the build into a scratch folder and uses it as others would. Skipped, and says so, where it
# would only be slow: under sanitizers; and in cross builds, whose programs cmake would not run.
find_package(Python3 QUIET COMPONENTS Interpreter)
if(TARGET attend AND Python3_FOUND AND NOT CMAKE_CROSSCOMPILING)
  if(ATTEND_SANITIZE)
    add_test(NAME install COMMAND ${CMAKE_COMMAND} -E echo "skipped: not under sanitizers")
    set_tests_properties(install PROPERTIES SKIP_REGULAR_EXPRESSION "skipped")
  else()
    add_library(attend_fake_cuda MODULE tests/install/fake_cuda.cpp)
    attend_configure(attend_fake_cuda)
    set_target_properties(attend_fake_cuda PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
    target_link_libraries(attend_fake_cuda PRIVATE attend_cpu)
    target_compile_definitions(attend_fake_cuda PRIVATE ATTEND_BUILD="${build_key} ${build_key_digest}")
    target_link_options(attend_fake_cuda PRIVATE -Wl,-Bsymbolic -Wl,--no-undefined
                        -Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/plugin_exports.map)
    add_test(NAME install COMMAND python3 tests/install/install_test.py ${PROJECT_BINARY_DIR} ${PROJECT_SOURCE_DIR}
             ${PROJECT_BINARY_DIR}/tests/scratch/install WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    set_tests_properties(install PROPERTIES TIMEOUT 1200 SKIP_RETURN_CODE 77)
  endif()
endif()

# Two full-size folders in the layouts of the Hugging Face hub; `make hub-test` runs all of them.
if(NOT ATTEND_SANITIZE AND NOT CMAKE_CROSSCOMPILING)
  add_test(NAME hub COMMAND tools/hub-test all-MiniLM-L6-v2 ms-marco-MiniLM-L-6-v2
           WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(hub PROPERTIES ENVIRONMENT "PROGRAM=$<TARGET_FILE:attend>" TIMEOUT 600 SKIP_RETURN_CODE 77)
endif()

# The labs: their solutions, right answers and planted mistakes. Sanitizers would see Python only.
if(TARGET attend AND Python3_FOUND AND NOT ATTEND_SANITIZE AND NOT CMAKE_CROSSCOMPILING)
  add_test(NAME labs COMMAND ${Python3_EXECUTABLE} tests/labs/labs_test.py $<TARGET_FILE:attend>
           WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(labs PROPERTIES TIMEOUT 1200)
endif()
