# Puts the files of web/ into the program: build/generated/web_content.cpp, written anew when one of them changes. Run
# two ways: included by CMakeLists.txt, and as a script (cmake -P) by the rule it makes.
if(CMAKE_SCRIPT_MODE_FILE)
  cmake_minimum_required(VERSION 3.25)
  set(text "#include <array>\n\n#include \"attend/serve/web_files.h\"\n\nnamespace attend::serve {\n\n")
  file(GLOB files ${SOURCE_DIR}/web/*.html ${SOURCE_DIR}/web/*.css ${SOURCE_DIR}/web/*.js)
  list(LENGTH files count)
  string(APPEND text "std::span<const WebFile> web_files() {\n")
  string(APPEND text "  static constexpr std::array<WebFile, ${count}> kFiles{{\n")
  foreach(path ${files})
    get_filename_component(name ${path} NAME)
    get_filename_component(suffix ${path} LAST_EXT)
    set(type "text/javascript; charset=utf-8")
    if(suffix STREQUAL ".html")
      set(type "text/html; charset=utf-8")
    elseif(suffix STREQUAL ".css")
      set(type "text/css; charset=utf-8")
    endif()
    # As bytes: text with brackets and semicolons does not survive CMake's lists.
    file(READ ${path} hex HEX)
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "\\\\x\\1" hex "${hex}")
    file(SIZE ${path} size)
    string(APPEND text "    {\"${name}\", \"${type}\", {\"${hex}\", ${size}}},\n")
  endforeach()
  string(APPEND text "  }};\n  return kFiles;\n}\n\n}  // namespace attend::serve\n")
  file(WRITE ${OUTPUT} "${text}")
  return()
endif()

if(TARGET attend_serve)
  file(GLOB web_files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/web/*)
  set(web_content ${PROJECT_BINARY_DIR}/generated/web_content.cpp)
  add_custom_command(OUTPUT ${web_content} DEPENDS ${web_files} ${CMAKE_CURRENT_LIST_FILE}
    COMMAND ${CMAKE_COMMAND} -D SOURCE_DIR=${PROJECT_SOURCE_DIR} -D OUTPUT=${web_content} -P ${CMAKE_CURRENT_LIST_FILE}
    COMMENT "Embedding web/")
  target_sources(attend_serve PRIVATE ${web_content})
  # The page in a real browser; skipped where there is no Chromium, and in builds too slow to wait for.
  if(NOT CMAKE_CROSSCOMPILING AND NOT ATTEND_SANITIZE)
    foreach(page look picture)
      add_test(NAME web.${page} COMMAND python3 tests/web/${page}_test.py $<TARGET_FILE:attend>
               WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
      set_tests_properties(web.${page} PROPERTIES TIMEOUT 300 SKIP_RETURN_CODE 77)
    endforeach()
    # attend serve and the clients that exist; skipped where they were not fetched (npm ci in tests/serve_clients).
    add_test(NAME serve_clients COMMAND python3 tests/serve_clients/run.py $<TARGET_FILE:attend>
             WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    set_tests_properties(serve_clients PROPERTIES TIMEOUT 300 SKIP_RETURN_CODE 77)
  endif()
endif()
