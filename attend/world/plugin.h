// Plugins of the program: libraries that are opened at run time, only when they are asked for, so that one program runs
// where MPI and NCCL are and where they are not.
#pragma once

#include <string>

namespace attend {

struct Plugin {
  void* function = nullptr;  // the one it is opened for; null: there is none
  std::string path = {};     // of the plugin
  std::string why = {};      // it could not be opened
};

// variable: of the environment, that names another file than the one of this name beside the program.
Plugin open_plugin(const std::string& name, const char* variable, const char* function);

}  // namespace attend
