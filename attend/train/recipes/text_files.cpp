#include "attend/train/recipes/text_files.h"

#include "attend/base/error.h"
#include "attend/train/recipes/start_folder.h"

namespace attend::train {

std::vector<train::DataFile> text_files(const std::vector<std::string>& text,
                                        const std::vector<std::string>& valid_text, const std::string& out) {
  check(!text.empty() && !valid_text.empty() && !out.empty(), "training: 'text', 'valid_text' and 'out' are needed");
  std::vector<train::DataFile> files;
  for (const std::string& path : text)
    if (!path.empty()) files.push_back({"text", path});
  for (const std::string& path : valid_text)
    if (!path.empty()) files.push_back({"valid_text", path});
  return files;
}

std::vector<train::DataFile> text_files(const std::vector<std::string>& text, const std::string& out) {
  check(!text.empty() && !out.empty(), "training: 'text' and 'out' are needed");
  std::vector<train::DataFile> files;
  for (const std::string& path : text) files.push_back({"text", path});
  return files;
}

data::TokenStream token_stream(const train::RunFolder& folder, const std::vector<std::string>& texts, const char* name,
                               std::int32_t line_end) {
  const auto [found, made] = folder.derived(name);
  return data::TokenStream::open_or_build({.texts = texts,
                                           .tokenizer = tokenizer_file(folder.prepared()),
                                           .cache = found,
                                           .rebuilt = made,
                                           .line_end = line_end});
}

}  // namespace attend::train
