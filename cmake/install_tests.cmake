# One entry that installs the build into a scratch folder and uses it as others would. Skipped, and says so, where it
# would only be slow: under sanitizers; and in cross builds, whose programs cmake would not run.
find_package(Python3 QUIET COMPONENTS Interpreter)
if(TARGET attend AND Python3_FOUND AND NOT CMAKE_CROSSCOMPILING)
  if(ATTEND_SANITIZE)
    add_test(NAME install COMMAND ${CMAKE_COMMAND} -E echo "skipped: not under sanitizers")
    set_tests_properties(install PROPERTIES SKIP_REGULAR_EXPRESSION "skipped")
  else()
    add_test(NAME install COMMAND python3 tests/install/install_test.py ${PROJECT_BINARY_DIR} ${PROJECT_SOURCE_DIR}
             ${PROJECT_BINARY_DIR}/tests/scratch/install WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    set_tests_properties(install PROPERTIES TIMEOUT 1200 SKIP_RETURN_CODE 77)
  endif()
endif()
