// The page: the files of web/, put into the program by cmake/web.cmake.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace attend::look {

struct WebFile {
  std::string_view name, type, content;
};

// Unpacked when first asked for.
std::span<const WebFile> web_files();
// Null when there is none of that name.
const WebFile* find_web_file(std::string_view name);

// What cmake/web.cmake wrote: a table, and the contents one behind the other, compressed where there is zlib.
struct EmbeddedFile {
  std::string_view name, type;
  std::size_t size;
};
std::span<const EmbeddedFile> embedded_files();
std::string_view embedded_contents();

}  // namespace attend::look
