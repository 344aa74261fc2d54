// What `attend info` says about the input of a model that reads no text. Each function takes the model's config.json,
// which messages call `what`, and throws Error for one that its model refuses.
#pragma once

#include <string>
#include <string_view>

#include "attend/base/json.h"

namespace attend::catalogue {

std::string image_input(const Json& config, std::string_view what);
std::string detection_input(const Json& config, std::string_view what);
std::string generator_input(const Json& config, std::string_view what);

}  // namespace attend::catalogue
