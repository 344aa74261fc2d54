// Config files that leave out what they are: older repositories have no "architectures", some not even "model_type".
// The names of the tensors say both.
#pragma once

#include <filesystem>

#include "attend/base/json.h"

namespace attend::catalogue {

// The config with what its folder's tensors say where it says nothing itself; unchanged where that is nothing, too.
Json completed_config(Json config, const std::filesystem::path& folder);

}  // namespace attend::catalogue
