#include "attend/cuda_library.h"

#include <fmt/core.h>

#include <string_view>

#include "attend/base/plugin.h"

namespace attend {

#ifdef ATTEND_WITH_CUDA

const CudaLibrary& cuda_library() {
  static const CudaLibrary kLinked = {.plugin = attend_cuda_plugin(), .missing = ""};
  return kLinked;
}

bool has_cuda_library() { return true; }

#else

namespace {

PluginName plugin_name() {
  return {.file = "libattend_cuda.so", .variable = "ATTEND_CUDA_PLUGIN", .function = "attend_cuda_plugin"};
}

CudaLibrary open_library() {
  const Plugin opened = open_plugin(plugin_name());
  if (!opened.function && !has_plugin(plugin_name()))
    return {.missing = fmt::format("this program was built without CUDA, and {} is not beside it ({} says where else)",
                                   plugin_name().file, plugin_name().variable)};
  if (!opened.function) return {.missing = fmt::format("its library cannot be opened: {}", opened.why)};
  const CudaPlugin* plugin = reinterpret_cast<decltype(&attend_cuda_plugin)>(opened.function)();
  if (std::string_view(plugin->build) != ATTEND_BUILD)
    return {.missing = fmt::format("{} is of another build ({}, not {}): install both together", opened.path,
                                   plugin->build, ATTEND_BUILD)};
  return {.plugin = plugin, .missing = ""};
}

}  // namespace

const CudaLibrary& cuda_library() {
  static const CudaLibrary kOpened = open_library();
  return kOpened;
}

bool has_cuda_library() { return has_plugin(plugin_name()); }

#endif

}  // namespace attend
