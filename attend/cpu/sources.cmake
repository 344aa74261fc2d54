# Sources of the CPU backend, relative to the source root. The loops of rows/ are compiled once for each instruction
# set, into a namespace of their own; row_kernels.cpp picks one at run time.
include(${PROJECT_SOURCE_DIR}/attend/cpu/gemm/sources.cmake)
set(ATTEND_CPU_SOURCES
    ${ATTEND_CPU_GEMM_SOURCES}
    attend/cpu/activation.cpp
    attend/cpu/add_norm.cpp
    attend/cpu/additive_scores.cpp
    attend/cpu/attention.cpp
    attend/cpu/attention_backward.cpp
    attend/cpu/box_distances.cpp
    attend/cpu/top_k.cpp
    attend/cpu/consistency.cpp
    attend/cpu/convolution.cpp
    attend/cpu/cpu_backend.cpp
    attend/cpu/cross_entropy.cpp
    attend/cpu/depthwise.cpp
    attend/cpu/sample_tokens.cpp
    attend/cpu/dropout.cpp
    attend/cpu/elementwise.cpp
    attend/cpu/embedding.cpp
    attend/cpu/fill.cpp
    attend/cpu/group_norm.cpp
    attend/cpu/matmul.cpp
    attend/cpu/optimizer.cpp
    attend/cpu/packed_weight.cpp
    attend/cpu/pooling.cpp
    attend/cpu/random.cpp
    attend/cpu/reduce.cpp
    attend/cpu/resize.cpp
    attend/cpu/rnn_step.cpp
    attend/cpu/row_kernels.cpp
    attend/cpu/scale.cpp
    attend/cpu/softmax.cpp
    attend/cpu/strided_copy.cpp)

set(ATTEND_CPU_ROWS
    attend/cpu/rows/attention.cpp
    attend/cpu/rows/attention_backward.cpp
    attend/cpu/rows/attention_step.cpp
    attend/cpu/rows/columns.cpp
    attend/cpu/rows/elementwise.cpp
    attend/cpu/rows/norm.cpp
    attend/cpu/rows/optimizer.cpp
    attend/cpu/rows/pooling.cpp
    attend/cpu/rows/random.cpp
    attend/cpu/rows/recurrent.cpp
    attend/cpu/rows/softmax.cpp
    attend/cpu/rows/table.cpp
    attend/cpu/rows/winograd.cpp)
list(TRANSFORM ATTEND_CPU_ROWS PREPEND ${PROJECT_SOURCE_DIR}/)

# Those with loops of their own are compiled alone, as they were measured: what is inlined where must not depend on the
# neighbours. The others hand rows to the loops of rows/ and are compiled together, as are those of rows/ but for attention,
# whose f32 loop comes out another with neighbours (3,210 and 2,735 instructions for AVX2).
set(alone attend/cpu/convolution.cpp attend/cpu/depthwise.cpp attend/cpu/sample_tokens.cpp attend/cpu/embedding.cpp
          attend/cpu/fill.cpp attend/cpu/group_norm.cpp attend/cpu/pooling.cpp attend/cpu/reduce.cpp attend/cpu/resize.cpp
          attend/cpu/strided_copy.cpp attend/cpu/top_k.cpp attend/cpu/rows/attention.cpp
          attend/cpu/rows/attention_backward.cpp attend/cpu/rows/attention_step.cpp
          attend/cpu/rows/attention_amx.cpp attend/cpu/rows/attention_backward_amx.cpp)
list(TRANSFORM alone PREPEND ${PROJECT_SOURCE_DIR}/)
if(NOT ATTEND_SANITIZE)
  set_source_files_properties(${alone} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endif()

if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64|amd64")
  set(ATTEND_ROWS_SETS generic avx2 avx512 amx)
  set(ATTEND_ROWS_FLAGS_generic -march=x86-64 -O2)  # what processors of today do not run
  set(ATTEND_ROWS_FLAGS_avx2 -march=x86-64-v3)
  set(ATTEND_ROWS_FLAGS_avx512 -march=x86-64-v3 -mavx512f -mavx512bw -mavx512dq -mavx512vl
                               -mprefer-vector-width=512)
elseif(EMSCRIPTEN)
  set(ATTEND_ROWS_SETS wasm)
else()
  set(ATTEND_ROWS_SETS neon)
endif()

# What the matrix unit does is a fourth set, of its own files.
set(ATTEND_ROWS_FLAGS_amx ${ATTEND_ROWS_FLAGS_avx512} -mavx512bf16 -mamx-tile -mamx-bf16)

# No -ffast-math: NaN and infinities must survive. -Wno-*uninitialized: GCC 12's AVX-512 headers pass undefined vectors
# on purpose and are warned about (its bug 105593). -Wno-psabi: vectors are only passed between inlined functions.
foreach(set ${ATTEND_ROWS_SETS})
  if(set STREQUAL "amx")
    set(ATTEND_ROWS_FILES ${PROJECT_SOURCE_DIR}/attend/cpu/rows/attention_amx.cpp
                          ${PROJECT_SOURCE_DIR}/attend/cpu/rows/attention_backward_amx.cpp)
  else()
    set(ATTEND_ROWS_FILES ${ATTEND_CPU_ROWS})
  endif()
  add_library(attend_rows_${set} OBJECT ${ATTEND_ROWS_FILES})
  attend_configure_library(attend_rows_${set})
  target_link_libraries(attend_rows_${set} PRIVATE attend_kernel_checks)
  target_compile_definitions(attend_rows_${set} PRIVATE ATTEND_ROWS=rows_${set})
  target_compile_options(attend_rows_${set} PRIVATE
    ${ATTEND_KERNEL_FLAGS} -ffp-contract=fast -fno-math-errno -fno-trapping-math -Wno-psabi -Wno-uninitialized
    $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized> ${ATTEND_ROWS_FLAGS_${set}})
  list(APPEND ATTEND_CPU_SOURCES $<TARGET_OBJECTS:attend_rows_${set}>)
endforeach()
