// The page: the files of web/, put into the program by cmake/web.cmake.
#pragma once

#include <span>
#include <string_view>

namespace attend::serve {

struct WebFile {
  std::string_view name, type, content;
};

std::span<const WebFile> web_files();
// Null when there is none of that name.
const WebFile* find_web_file(std::string_view name);

}  // namespace attend::serve
