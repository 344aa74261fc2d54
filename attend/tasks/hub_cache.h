// Models that `hf download` (or any program over huggingface_hub) has put into its cache on this machine.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace attend::tasks {

// $HF_HUB_CACHE, $HF_HOME/hub, or ~/.cache/huggingface/hub, as huggingface_hub finds it. Empty when none can be named.
std::filesystem::path hub_cache();

// The folder of "org/name", or of "name" whoever it is from when only one of that name is there: the snapshot that
// refs/main names. None when it is not in the cache.
std::optional<std::filesystem::path> find_in_hub_cache(const std::string& name);

}  // namespace attend::tasks
