# ninja bench: every bench/*.cpp (and *.cu where there is CUDA) is a program of its own, build/bench/<name>.
# Files of bench/support are linked into each; bench/sources.cmake may add libraries to compare with (target bench_<name>).
file(GLOB_RECURSE support CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/bench/support/*.cpp)
file(GLOB programs CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/bench/*.cpp)
if(ATTEND_WITH_CUDA)
  file(GLOB cuda_programs CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/bench/*.cu)
  list(APPEND programs ${cuda_programs})
endif()

# Libraries to compare with are compiled for this very machine, in files of their own.
list(FILTER programs EXCLUDE REGEX "_eigen\\.cpp$")

add_custom_target(bench)
foreach(program ${programs})
  get_filename_component(name ${program} NAME_WE)
  add_executable(bench_${name} EXCLUDE_FROM_ALL ${program} ${support})
  attend_configure(bench_${name})
  set_target_properties(bench_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bench OUTPUT_NAME ${name})
  target_link_libraries(bench_${name} PRIVATE attend_everything attend_cli11 $<TARGET_NAME_IF_EXISTS:attend_backends>)
  add_dependencies(bench bench_${name})
endforeach()
find_path(ATTEND_EIGEN Eigen/Core PATH_SUFFIXES eigen3)
if(TARGET bench_cpu_gemm AND ATTEND_EIGEN AND NOT CMAKE_CROSSCOMPILING)
  target_sources(bench_cpu_gemm PRIVATE bench/cpu_gemm_eigen.cpp)
  set_source_files_properties(bench/cpu_gemm_eigen.cpp PROPERTIES
    COMPILE_OPTIONS "-march=native;-O3;-fopenmp;-Wno-error;-isystem;${ATTEND_EIGEN}")
  target_compile_definitions(bench_cpu_gemm PRIVATE ATTEND_BENCH_EIGEN)
  target_link_options(bench_cpu_gemm PRIVATE -fopenmp)
endif()
include(${PROJECT_SOURCE_DIR}/bench/sources.cmake OPTIONAL)
