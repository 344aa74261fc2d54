# Sources of attend/image, relative to the source root. The loops of rows/ are compiled for what every processor of the
# family has and, on x86-64, once more for AVX2, into a namespace of their own; rows.cpp picks one at run time.
file(GLOB ATTEND_IMAGE_SOURCES CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/attend/image/*.cpp)
set(image_sets generic)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64|amd64")
  list(APPEND image_sets avx2)
  set(image_flags_avx2 -march=x86-64-v3)
  set_source_files_properties(${PROJECT_SOURCE_DIR}/attend/image/rows.cpp PROPERTIES
    COMPILE_DEFINITIONS ATTEND_IMAGE_AVX2)
endif()
foreach(set ${image_sets})
  add_library(attend_image_rows_${set} OBJECT ${PROJECT_SOURCE_DIR}/attend/image/rows/rows.cpp)
  attend_configure_library(attend_image_rows_${set})
  target_link_libraries(attend_image_rows_${set} PRIVATE attend_fmt)
  target_compile_definitions(attend_image_rows_${set} PRIVATE ATTEND_IMAGE_ROWS=rows_${set})
  target_compile_options(attend_image_rows_${set} PRIVATE -O3 -Wno-psabi ${image_flags_${set}})
  list(APPEND ATTEND_IMAGE_SOURCES $<TARGET_OBJECTS:attend_image_rows_${set}>)
endforeach()
# A product and a sum are rounded each, on every processor: as Python does, and as Pillow does on x86-64.
set_source_files_properties(${PROJECT_SOURCE_DIR}/attend/image/augment_ops.cpp
                            ${PROJECT_SOURCE_DIR}/attend/image/augment_affine.cpp
                            PROPERTIES COMPILE_OPTIONS -ffp-contract=off SKIP_UNITY_BUILD_INCLUSION ON)
# What setjmp comes back to uses nothing that was changed in between; g++ cannot tell and may warn.
set_source_files_properties(${PROJECT_SOURCE_DIR}/attend/image/decode_jpeg.cpp
                            ${PROJECT_SOURCE_DIR}/attend/image/decode_png.cpp
                            ${PROJECT_SOURCE_DIR}/attend/image/encode_jpeg.cpp
                            PROPERTIES COMPILE_OPTIONS $<$<CXX_COMPILER_ID:GNU>:-Wno-clobbered>)
