// What this program is. The git part comes from a header that every build refreshes (cmake/version.cmake).
#include "attend/cli/commands/version.h"

#include <fmt/core.h>

#include <string_view>

#include "attend/backends.h"
#include "git_version.h"

namespace attend::cli {

namespace {

std::string compiler() {
#if defined(__clang__)
  return fmt::format("Clang {}.{}.{}", __clang_major__, __clang_minor__, __clang_patchlevel__);
#else
  return fmt::format("GCC {}.{}.{}", __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__);
#endif
}

#if defined(__x86_64__)
constexpr const char* kArchitecture = "x86-64";
#elif defined(__aarch64__)
constexpr const char* kArchitecture = "arm64";
#else
constexpr const char* kArchitecture = "generic";
#endif

}  // namespace

std::string version_text() {
  constexpr std::string_view kGit = ATTEND_GIT_VERSION;
  return fmt::format("attend {} ({}{}{}, {}, {})", ATTEND_VERSION, kGit, kGit.empty() ? "" : ", ", compiler(),
                     kArchitecture, built_with_cuda() ? "CUDA" : "no CUDA");
}

}  // namespace attend::cli
