// Plugins: libraries that are opened at run time, only when they are asked for, so that one program and one libattend
// run where CUDA, MPI and NCCL are and where they are not.
#pragma once

#include <string>

namespace attend {

struct PluginName {
  std::string file;      // libattend_mpi.so
  const char* variable;  // of the environment, that names another file
  const char* function;  // the one it is opened for
  bool global = false;   // what it brings along is seen by what that opens (MPI opens parts of its own)
};

struct Plugin {
  void* function = nullptr;  // null: there is none
  std::string path = {};     // of the plugin
  std::string why = {};      // it could not be opened
};

// Looks beside the program or library that this code is in, where a build leaves it; in the folder attend/ of the
// libraries of the prefix it was installed under; and where the system looks.
Plugin open_plugin(const PluginName& name);
// Whether there is one to open, but for where the system looks; opens nothing.
bool has_plugin(const PluginName& name);

}  // namespace attend
