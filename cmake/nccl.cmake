# libattend_nccl.so, the plugin that sums on GPUs (attend/world/nccl/), where NCCL and CUDA's runtime are found. The program is
# the same with and without: it opens the plugin when several processes train on GPUs. ATTEND_NCCL=OFF leaves it out.
option(ATTEND_NCCL "Build the NCCL plugin where NCCL is found" ON)
if(ATTEND_NCCL AND NOT ATTEND_SANITIZE AND NOT CMAKE_CROSSCOMPILING)
  find_package(CUDAToolkit QUIET)
  find_path(ATTEND_NCCL_INCLUDE nccl.h HINTS ENV NCCL_HOME ${CUDAToolkit_INCLUDE_DIRS} PATH_SUFFIXES include)
  find_library(ATTEND_NCCL_LIBRARY nccl HINTS ENV NCCL_HOME ${CUDAToolkit_LIBRARY_DIR} ${CUDAToolkit_LIBRARY_ROOT}
               PATH_SUFFIXES lib lib64)
  if(TARGET CUDA::cudart_static AND ATTEND_NCCL_INCLUDE AND ATTEND_NCCL_LIBRARY)
    add_library(attend_nccl MODULE attend/world/nccl/nccl_plugin.cpp)
    target_include_directories(attend_nccl SYSTEM PRIVATE ${ATTEND_NCCL_INCLUDE})
    target_link_libraries(attend_nccl PRIVATE attend_flags ${ATTEND_NCCL_LIBRARY} CUDA::cudart_static)
    set_target_properties(attend_nccl PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
  endif()
endif()
