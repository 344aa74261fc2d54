// Where models are: a folder by its path, a shipped one by its name, or one of the hub's cache by the name it has
// there.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace attend::tasks {

inline constexpr const char* kShippedTranslator = "en-fr";

// Where a model called name may lie, in the order they are looked at: models/NAME under the current folder, beside the
// program and one above it (a build folder in the source tree), ../share/attend/models/NAME (an installed program), and
// the same above a shared library that has this code.
std::vector<std::filesystem::path> places_of(const std::string& name);

// The names of the models in those places, in alphabetical order.
std::vector<std::string> shipped_models();

// The folder, which has a config.json: the path itself, the first place of a model of that name, or the snapshot in the
// cache of the Hugging Face hub (hub_cache.h). Throws Error saying
// where it looked and which names there are.
std::filesystem::path find_model(const std::string& path_or_name);

// The files of a folder that decide what its model answers: config, tokenizer and weights, in the order of their names.
// Others that lie beside them (a log, results) are no part of it. Of a file that is given itself: that file.
std::vector<std::filesystem::path> model_files(const std::filesystem::path& folder);
// A hash of the names and bytes of those.
std::uint64_t model_hash(const std::filesystem::path& folder);

}  // namespace attend::tasks
