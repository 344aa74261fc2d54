#include "attend/world/plugin.h"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <vector>

#include "attend/base/error.h"

namespace attend {

namespace {

namespace fs = std::filesystem;

// Beside the program, where a build leaves it; where an installation has it; where the system looks.
std::vector<std::string> plugin_paths(const std::string& name, const char* variable) {
  if (const char* named = std::getenv(variable)) return {named};
  std::error_code error;
  const fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path();
  std::vector<std::string> paths;
  for (const fs::path& path : {folder / name, folder / ".." / "lib" / "attend" / name, folder / ".." / "lib" / name})
    if (fs::exists(path, error)) paths.push_back(path.string());
  paths.emplace_back(name);
  return paths;
}

}  // namespace

Plugin open_plugin(const std::string& name, const char* variable, const char* function) {
  Plugin plugin;
  for (const std::string& path : plugin_paths(name, variable)) {
    plugin.path = path;
    void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);  // global: MPI opens parts of its own
    if (!library) {
      const char* error = dlerror();
      plugin.why = error ? error : path;
      continue;
    }
    plugin.function = dlsym(library, function);
    check(plugin.function != nullptr, "'{}' is not a plugin of this program: {} names another", path, variable);
    return plugin;
  }
  return plugin;
}

}  // namespace attend
