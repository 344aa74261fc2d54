// What a file calls a parameter, where the model here has another name for it.
#pragma once

#include <functional>
#include <string>

namespace attend::catalogue {

using Spelling = std::function<std::string(const std::string& name)>;

}  // namespace attend::catalogue
