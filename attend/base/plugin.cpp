#include "attend/base/plugin.h"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <vector>

#include "attend/base/error.h"

namespace attend {

namespace {

namespace fs = std::filesystem;

// The program or library that this code is in; empty when nobody can say.
fs::path own_file() {
  Dl_info info = {};
  if (!dladdr(reinterpret_cast<const void*>(&has_plugin), &info) || !info.dli_fname) return {};
  // Of a program, dladdr tells how it was called, which without a slash is not where it is.
  std::error_code error;
  const bool path = std::string_view(info.dli_fname).find('/') != std::string_view::npos;
  const fs::path file = path ? fs::canonical(info.dli_fname, error) : fs::read_symlink("/proc/self/exe", error);
  return error ? fs::path() : file;
}

// Those that there are, the nearest first.
std::vector<std::string> plugin_paths(const PluginName& name) {
  if (const char* named = std::getenv(name.variable)) return {named};
  std::vector<std::string> paths;
  std::error_code error;
  fs::path folder = own_file().parent_path();
  // PREFIX/lib/python3/dist-packages/attend is the deepest; of a build, tests/ is below the plugins.
  for (int level = 0; level < 5 && folder.has_relative_path(); ++level, folder = folder.parent_path())
    for (const fs::path& place : {folder, folder / ATTEND_LIBDIR / "attend", folder / "lib" / "attend"})
      if (fs::exists(place / name.file, error)) paths.push_back((place / name.file).string());
  return paths;
}

}  // namespace

Plugin open_plugin(const PluginName& name) {
  std::vector<std::string> paths = plugin_paths(name);
  if (!std::getenv(name.variable)) paths.push_back(name.file);
  Plugin plugin;
  for (const std::string& path : paths) {
    plugin.path = path;
    void* const library = dlopen(path.c_str(), RTLD_NOW | (name.global ? RTLD_GLOBAL : RTLD_LOCAL));
    if (!library) {
      const char* error = dlerror();
      if (plugin.why.empty() || path != name.file) plugin.why = error ? error : path;
      continue;
    }
    plugin.function = dlsym(library, name.function);
    check(plugin.function != nullptr, "'{}' is not a plugin of this program: {} names another", path, name.variable);
    return plugin;
  }
  return plugin;
}

bool has_plugin(const PluginName& name) { return !plugin_paths(name).empty(); }

}  // namespace attend
