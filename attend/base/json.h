// JSON, as nlohmann's type with its keys in file order. Files that read or write values include <nlohmann/json.hpp>.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string_view>

namespace attend {

using Json = nlohmann::ordered_json;

// Throws Error naming what (a path, a header) and where in it the trouble is.
Json parse_json(std::string_view text, std::string_view what);
Json read_json(const std::filesystem::path& path);

}  // namespace attend
