# Puts the files of attend/look/web/ into the program: build/generated/web_content.cpp, written anew when one of them changes. Run
# two ways: included by CMakeLists.txt, and as a script (cmake -P) by the rule it makes.
# The sources whose lines the page links to, under their own paths: those of attend/look/inspect/source_lines.txt and of the
# course, which is docs/lectures.md.
function(attend_named_sources root result)
  set(sources "")
  foreach(page attend/look/inspect/source_lines.txt docs/lectures.md)
    file(READ ${root}/${page} text)
    string(REGEX MATCHALL "attend/[a-z0-9_/]+\\.(cpp|h)" named "${text}")
    list(APPEND sources ${named})
  endforeach()
  list(REMOVE_DUPLICATES sources)
  list(TRANSFORM sources PREPEND ${root}/)
  set(${result} ${sources} PARENT_SCOPE)
endfunction()

if(CMAKE_SCRIPT_MODE_FILE)
  cmake_minimum_required(VERSION 3.25)
  set(text "#include <array>\n\n#include \"attend/look/api/web_files.h\"\n\nnamespace attend::look {\n\n")
  file(GLOB files ${SOURCE_DIR}/attend/look/web/*.html ${SOURCE_DIR}/attend/look/web/*.css ${SOURCE_DIR}/attend/look/web/*.js)
  attend_named_sources(${SOURCE_DIR} sources)
  file(GLOB figures ${SOURCE_DIR}/docs/images/lectures-*.svg)
  list(APPEND files ${sources} ${SOURCE_DIR}/docs/lectures.md ${figures})
  list(LENGTH files count)
  string(APPEND text "std::span<const EmbeddedFile> embedded_files() {\n")
  string(APPEND text "  static constexpr std::array<EmbeddedFile, ${count}> kFiles{{\n")
  foreach(path ${files})
    get_filename_component(name ${path} NAME)
    if(path MATCHES "\\.(cpp|h)$")
      file(RELATIVE_PATH name ${SOURCE_DIR} ${path})
    endif()
    get_filename_component(suffix ${path} LAST_EXT)
    set(type "text/javascript; charset=utf-8")
    if(suffix STREQUAL ".html")
      set(type "text/html; charset=utf-8")
    elseif(suffix STREQUAL ".css")
      set(type "text/css; charset=utf-8")
    elseif(suffix STREQUAL ".svg")
      set(type "image/svg+xml")
    elseif(NOT suffix STREQUAL ".js")
      set(type "text/plain; charset=utf-8")
    endif()
    file(SIZE ${path} size)
    string(APPEND text "    {\"${name}\", \"${type}\", ${size}},\n")
  endforeach()
  string(APPEND text "  }};\n  return kFiles;\n}\n\n")
  # As bytes: text with brackets and semicolons does not survive CMake's lists.
  set(contents ${OUTPUT}.contents)
  execute_process(COMMAND ${CMAKE_COMMAND} -E cat ${files} OUTPUT_FILE ${contents} COMMAND_ERROR_IS_FATAL ANY)
  if(COMPRESS)
    file(ARCHIVE_CREATE OUTPUT ${contents}.gz PATHS ${contents} FORMAT raw COMPRESSION GZip COMPRESSION_LEVEL 9)
    set(contents ${contents}.gz)
  endif()
  file(READ ${contents} hex HEX)
  file(SIZE ${contents} size)
  if(COMPRESS)  # without the time, so that the same files are the same bytes
    string(SUBSTRING "${hex}" 0 8 magic)
    string(SUBSTRING "${hex}" 16 -1 rest)
    set(hex "${magic}00000000${rest}")
  endif()
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "\\\\x\\1" hex "${hex}")
  string(APPEND text "std::string_view embedded_contents() { return {\"${hex}\", ${size}}; }\n\n")
  string(APPEND text "}  // namespace attend::look\n")
  file(WRITE ${OUTPUT} "${text}")
  return()
endif()

if(TARGET attend_look AND NOT EMSCRIPTEN)  # in a browser the files lie beside attend.wasm
  file(GLOB web_files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/attend/look/web/*)
  attend_named_sources(${PROJECT_SOURCE_DIR} sources)
  file(GLOB figures CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/docs/images/lectures-*.svg)
  list(APPEND web_files ${sources} ${PROJECT_SOURCE_DIR}/docs/lectures.md ${figures})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/docs/lectures.md)
  set(web_content ${PROJECT_BINARY_DIR}/generated/web_content.cpp)
  set(compress ON)
  if(CMAKE_CROSSCOMPILING)  # without zlib
    set(compress OFF)
  endif()
  add_custom_command(OUTPUT ${web_content} DEPENDS ${web_files} ${CMAKE_CURRENT_LIST_FILE}
    COMMAND ${CMAKE_COMMAND} -D SOURCE_DIR=${PROJECT_SOURCE_DIR} -D OUTPUT=${web_content} -D COMPRESS=${compress}
            -P ${CMAKE_CURRENT_LIST_FILE}
    COMMENT "Embedding attend/look/web/")
  target_sources(attend_look PRIVATE ${web_content})
  # The page in a real browser; skipped where there is no Chromium, and in builds too slow to wait for.
  if(NOT CMAKE_CROSSCOMPILING AND NOT ATTEND_SANITIZE)
    foreach(page look image drawing reading teach sight course)
      add_test(NAME web.${page} COMMAND python3 tests/web/${page}_test.py $<TARGET_FILE:attend>
               WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
      set_tests_properties(web.${page} PROPERTIES TIMEOUT 300 SKIP_RETURN_CODE 77)
    endforeach()
    # The same without a server: attend.wasm under node, and the site in a browser. Compiling it takes minutes; skipped where
    # there is no emscripten.
    foreach(test page site training hostile access equal firefox)
      add_test(NAME long.wasm.${test} COMMAND python3 tests/wasm/${test}_test.py $<TARGET_FILE:attend>
               WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
      set_tests_properties(long.wasm.${test} PROPERTIES TIMEOUT 5400 SKIP_RETURN_CODE 77 LABELS long RESOURCE_LOCK wasm)
    endforeach()
    # attend serve and the clients that exist; skipped where they were not fetched (npm ci in tests/serve_clients).
    add_test(NAME serve_clients COMMAND python3 tests/serve_clients/run.py $<TARGET_FILE:attend>
             WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    set_tests_properties(serve_clients PROPERTIES TIMEOUT 300 SKIP_RETURN_CODE 77)
  endif()
endif()
