#include "attend/cuda_library.h"

#include <dlfcn.h>
#include <fmt/core.h>

#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>

namespace attend {

#ifdef ATTEND_WITH_CUDA

const CudaLibrary& cuda_library() {
  static const CudaLibrary kLinked = {.plugin = attend_cuda_plugin(), .missing = ""};
  return kLinked;
}

bool has_cuda_library() { return true; }

#else

namespace {

namespace fs = std::filesystem;

constexpr const char* kName = "libattend-cuda.so";

// ATTEND_CUDA_LIBRARY where it is set; else in the folder of the program or library that this code is in, or in one of
// those above it (PREFIX/lib/python3/dist-packages/attend is the deepest), or in their lib. Empty when it is nowhere.
std::string find_library() {
  if (const char* told = std::getenv("ATTEND_CUDA_LIBRARY")) return told;
  Dl_info info = {};
  std::error_code error;
  if (!dladdr(reinterpret_cast<const void*>(&has_cuda_library), &info) || !info.dli_fname) return "";
  // Of a program, dladdr tells how it was called, which without a slash is not where it is.
  const bool path = std::string_view(info.dli_fname).find('/') != std::string_view::npos;
  const fs::path self = path ? fs::canonical(info.dli_fname, error) : fs::read_symlink("/proc/self/exe", error);
  if (error) return "";
  fs::path folder = self.parent_path();
  for (int level = 0; level < 5 && folder.has_relative_path(); ++level, folder = folder.parent_path())
    for (const fs::path& place : {folder / kName, folder / ATTEND_LIBDIR / kName})
      if (fs::exists(place, error)) return place.string();
  return "";
}

CudaLibrary open_library() {
  const std::string path = find_library();
  if (path.empty())
    return {.missing = fmt::format(
                "this program was built without CUDA, and {} is not beside it (ATTEND_CUDA_LIBRARY says where else)",
                kName)};
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) return {.missing = fmt::format("CUDA's library could not be opened: {}", dlerror())};
  const auto plugin_of = reinterpret_cast<decltype(&attend_cuda_plugin)>(dlsym(library, "attend_cuda_plugin"));
  const CudaPlugin* plugin = plugin_of ? plugin_of() : nullptr;
  if (!plugin || std::string_view(plugin->build) != ATTEND_BUILD)
    return {.missing = fmt::format("{} is of another build ({}, not {}): install both together", path,
                                   plugin ? plugin->build : "unknown", ATTEND_BUILD)};
  return {.plugin = plugin, .missing = ""};
}

}  // namespace

const CudaLibrary& cuda_library() {
  static const CudaLibrary kOpened = open_library();
  return kOpened;
}

bool has_cuda_library() { return !find_library().empty(); }

#endif

}  // namespace attend
