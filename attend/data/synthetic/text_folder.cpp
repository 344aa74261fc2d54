#include "attend/data/synthetic/text_folder.h"

#include <utility>

#include "attend/base/error.h"
#include "attend/base/files.h"
#include "attend/base/new_folder.h"

namespace attend::data {

namespace {

constexpr std::int64_t kLinesBetweenCalls = 1024;

}  // namespace

std::int64_t write_texts(const std::filesystem::path& folder, const TextFolderOptions& options) {
  for (const std::int64_t count : {options.count, options.unseen})
    check(count >= 1 && count <= kMostTextLines, "make-data: a text has 1 to {} lines, not {}", kMostTextLines, count);
  check_empty_folder(folder, "make-data");
  NewFolder made(folder);
  std::int64_t bytes = 0, done = 0;
  const TextMaker maker{.kind = options.kind, .seed = options.seed, .distance = options.distance};
  const auto write = [&](const std::string& name, const std::string& text) {
    write_file(made.path() / name, text);
    bytes += static_cast<std::int64_t>(text.size());
  };
  for (const auto& [set, name] :
       {std::pair{TextSet::train, std::string("train")}, {TextSet::valid, "valid"}, {TextSet::test, "test"}}) {
    std::string source, target, lines;
    for (std::int64_t line = 0; line < (set == TextSet::train ? options.count : options.unseen); ++line) {
      const TextPair pair = make_text(maker, set, static_cast<std::uint64_t>(line));
      source += pair.source + "\n", target += pair.target + "\n";
      if (options.kind == TextKind::recall) lines += pair.source + pair.target + "\n";
      if (++done % kLinesBetweenCalls == 0 && options.on_progress) options.on_progress(done);
    }
    if (options.on_progress) options.on_progress(done);
    write(name + ".src", source), write(name + ".tgt", target);
    if (options.kind == TextKind::grammar) lines = source;
    if (!lines.empty() && set != TextSet::test) write(set == TextSet::train ? "lines.txt" : "lines.valid.txt", lines);
  }
  made.take_place();
  return bytes;
}

}  // namespace attend::data
