#pragma once

#include <string>

namespace attend::cli {

// "attend 0.2.0 (ef7dcc6, GCC 12.2.0, x86-64, CUDA)"
std::string version_text();

}  // namespace attend::cli
