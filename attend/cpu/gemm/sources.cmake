# Sources of the CPU matrix product, relative to the source root. No per-file flags: each function carries its target.
set(ATTEND_CPU_GEMM_SOURCES
    attend/cpu/features.cpp
    attend/cpu/gemm/gemm.cpp
    attend/cpu/gemm/amx.cpp
    attend/cpu/gemm/avx2.cpp
    attend/cpu/gemm/avx512.cpp
    attend/cpu/gemm/avx512_int8.cpp
    attend/cpu/gemm/bias.cpp
    attend/cpu/gemm/blocked.cpp
    attend/cpu/gemm/few_rows.cpp
    attend/cpu/gemm/generic.cpp
    attend/cpu/gemm/kernels.cpp
    attend/cpu/gemm/lines.cpp
    attend/cpu/gemm/neon.cpp
    attend/cpu/gemm/pack.cpp
    attend/cpu/gemm/packed.cpp
    attend/cpu/gemm/pad_images.cpp
    attend/cpu/gemm/plan.cpp
    attend/cpu/gemm/quantise_images.cpp
    attend/cpu/gemm/wasm.cpp
    attend/cpu/gemm/windows.cpp
    attend/cpu/gemm/winograd.cpp
    attend/cpu/gemm/winograd_tile.cpp
    attend/cpu/gemm/winograd_weights.cpp)
# Several of these say the same in different instructions, with the same names: never in one unit.
list(TRANSFORM ATTEND_CPU_GEMM_SOURCES PREPEND ${PROJECT_SOURCE_DIR}/ OUTPUT_VARIABLE kernels)
set_source_files_properties(${kernels} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
