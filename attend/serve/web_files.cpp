#include "attend/serve/web_files.h"

namespace attend::serve {

const WebFile* find_web_file(std::string_view name) {
  for (const WebFile& file : web_files())
    if (file.name == name) return &file;
  return nullptr;
}

}  // namespace attend::serve
