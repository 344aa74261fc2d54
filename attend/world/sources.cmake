# The plugin is a library of its own (cmake/mpi.cmake): it is opened at run time.
file(GLOB_RECURSE ATTEND_WORLD_SOURCES CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/attend/world/*.cpp)
list(FILTER ATTEND_WORLD_SOURCES EXCLUDE REGEX "_plugin\\.cpp$")
