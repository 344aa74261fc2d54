// A model that the page can open.
#pragma once

#include <filesystem>
#include <string>

namespace attend::look {

struct ModelEntry {
  std::string name, about;            // about: one line
  std::filesystem::path folder = {};  // empty: the bundled model of this name
};

}  // namespace attend::look
