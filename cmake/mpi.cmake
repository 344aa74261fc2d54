# libattend_mpi.so, the plugin behind mpirun and srun (attend/world/mpi/), where an MPI is found. The program is the same
# with and without: it opens the plugin when a launcher started it. ATTEND_MPI=OFF leaves it out.
option(ATTEND_MPI "Build the MPI plugin where MPI is found" ON)
if(ATTEND_MPI AND NOT ATTEND_SANITIZE)
  set(MPI_CXX_SKIP_MPICXX TRUE)
  find_package(MPI QUIET COMPONENTS CXX)
  if(MPI_CXX_FOUND)
    add_library(attend_mpi MODULE attend/world/mpi/mpi_plugin.cpp)
    target_link_libraries(attend_mpi PRIVATE attend_flags MPI::MPI_CXX)
    set_target_properties(attend_mpi PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
  else()
    message(STATUS "attend: no MPI found, so without its plugin (docs/many-machines.md)")
  endif()
endif()
