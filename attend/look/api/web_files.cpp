#include "attend/look/api/web_files.h"

#include <string>
#include <vector>

#include "attend/base/error.h"
#include "attend/text/gzip.h"

namespace attend::look {

namespace {

std::string unpacked() {
  std::string contents;
  std::size_t size = 0;
  for (const EmbeddedFile& file : embedded_files()) size += file.size;
  if (text::is_gzip(embedded_contents())) {
    text::GzipReader reader("the page", embedded_contents());
    while (reader.read(size + 1, contents)) {
    }
  } else {
    contents = embedded_contents();
  }
  check(contents.size() == size, "the page: {} bytes are in the program, but {} belong there", contents.size(), size);
  return contents;
}

}  // namespace

#ifdef __EMSCRIPTEN__  // in a browser the files lie beside attend.wasm
std::span<const EmbeddedFile> embedded_files() { return {}; }
std::string_view embedded_contents() { return {}; }
#endif

std::span<const WebFile> web_files() {
  static const std::string kContents = unpacked();
  static const std::vector<WebFile> kFiles = [] {
    std::vector<WebFile> files;
    std::size_t begin = 0;
    for (const EmbeddedFile& file : embedded_files()) {
      files.push_back({file.name, file.type, std::string_view(kContents).substr(begin, file.size)});
      begin += file.size;
    }
    return files;
  }();
  return kFiles;
}

const WebFile* find_web_file(std::string_view name) {
  for (const WebFile& file : web_files())
    if (file.name == name) return &file;
  return nullptr;
}

}  // namespace attend::look
