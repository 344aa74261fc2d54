#include "attend/tasks/model_folder.h"

#include <dlfcn.h>
#include <fmt/core.h>

#include <set>
#include <system_error>

#include "attend/base/error.h"
#include "attend/base/fields.h"
#include "attend/base/file_mark.h"
#include "attend/base/joined.h"
#include "attend/base/mapped_file.h"
#include "attend/base/paths.h"
#include "attend/tasks/hub_cache.h"
#include "attend/tasks/hub_files.h"

namespace attend::tasks {

namespace {

namespace fs = std::filesystem;

bool present(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

// The folders of the shared library that this code is in, from its own up to the prefix it was installed under; none in
// a program that has the code itself.
std::vector<fs::path> library_folders(const fs::path& program) {
  Dl_info info = {};
  if (!dladdr(reinterpret_cast<const void*>(&present), &info) || !info.dli_fname) return {};
  std::error_code error;
  const fs::path library = fs::canonical(info.dli_fname, error);
  if (error || library == program) return {};
  constexpr std::size_t kLevels = 4;  // PREFIX/lib/python3/dist-packages/attend/_attend.so
  std::vector<fs::path> folders;
  for (fs::path folder = library.parent_path(); folders.size() < kLevels && folder.has_relative_path();) {
    folder = folder.parent_path();
    folders.push_back(folder);
  }
  return folders;
}

}  // namespace

std::vector<fs::path> places_of(const std::string& name) {
  std::vector<fs::path> places = {fs::path("models") / name};
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (error) return places;
  const fs::path folder = program.parent_path();
  places.push_back(folder / "models" / name);
  places.push_back(folder.parent_path() / "models" / name);
  places.push_back(folder.parent_path() / "share" / "attend" / "models" / name);
  for (const fs::path& above : library_folders(program)) places.push_back(above / "share" / "attend" / "models" / name);
  return places;
}

std::vector<std::string> shipped_models() {
  std::set<std::string> names;
  for (const fs::path& place : places_of("")) {
    std::error_code error;
    for (fs::directory_iterator entry(place, error), end; !error && entry != end; entry.increment(error))
      if (present(entry->path() / "config.json")) names.insert(entry->path().filename().string());
  }
  return {names.begin(), names.end()};
}

fs::path find_model(const std::string& path_or_name) {
  check(!path_or_name.empty(), "model: its folder has no name");
  const fs::path path = path_or_name;
  if (present(path / "config.json")) return path;
  check(!present(path), "model: {} is not a model's folder: it has no config.json", path_or_name);
  const bool name = path_or_name.find('/') == std::string::npos;
  if (name)
    for (const fs::path& place : places_of(path_or_name))
      if (present(place / "config.json")) return place;
  if (const auto cached = find_in_hub_cache(path_or_name)) return *cached;
  // "org/name" is a repository of the hub, "a/b/c" and "./a" are paths.
  const bool repository = !name && path_or_name.find('/') == path_or_name.rfind('/') && path_or_name.front() != '/' &&
                          path_or_name.front() != '.' && path_or_name.back() != '/';
  check(name || repository, "model: there is no folder '{}'", path_or_name);
  check(name, "model: there is no folder '{}', and no repository of that name in the hub's cache ({}); {}",
        path_or_name, hub_cache().string(), how_to_fetch(path_or_name));
  const std::vector<std::string> shipped = shipped_models();
  const std::string nearest = nearest_name(path_or_name, shipped);
  fail("model: there is no folder '{}', and {}{}; {}", path_or_name,
       shipped.empty()
           ? "models/ with the bundled models is neither here nor beside the program"
           : fmt::format("no model of that name comes with attend; the bundled ones are {}", joined(shipped, ", ")),
       nearest.empty() ? "" : "; did you mean '" + nearest + "'?", how_to_fetch(path_or_name));
}

std::vector<fs::path> model_files(const fs::path& folder) {
  if (!is_folder(folder)) return {folder};
  std::vector<fs::path> files = files_in(folder);
  std::erase_if(files, [](const fs::path& path) {
    static const std::set<std::string> kNames = {"config.json",
                                                 "generation_config.json",
                                                 "tokenizer_config.json",
                                                 "special_tokens_map.json",
                                                 "added_tokens.json",
                                                 "vocab.json",
                                                 "encoder.json",
                                                 "vocab.txt",
                                                 "merges.txt",
                                                 "preprocessor_config.json",
                                                 "modules.json",
                                                 "sentence_bert_config.json",
                                                 "config_sentence_transformers.json",
                                                 "tokenizer.json"};
    const std::string name = path.filename().string(), ending = path.extension().string();
    const bool weights = (name.starts_with("model") && (ending == ".safetensors" || ending == ".json")) ||
                         (name.starts_with("pytorch_model") && (ending == ".bin" || ending == ".json"));
    return !weights && ending != ".spm" && ending != ".model" && !kNames.contains(name);
  });
  return files;
}

std::uint64_t model_hash(const fs::path& folder) {
  ByteHash hash;
  for (const fs::path& path : model_files(folder)) {
    const MappedFile file(path);
    hash.add(fmt::format("{}\n{}\n", path.filename().string(), file.text().size()));
    hash.add(file.text());
    file.check_whole();
  }
  return hash.value();
}

}  // namespace attend::tasks
